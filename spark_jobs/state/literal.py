"""A key's value as somebody types it, as the value of its column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime

from spark_jobs.contract.errors import StateUnreadable

Value = str | int | float | bool | datetime | date


def parse(column: str, text: str, kind: str) -> Value:
    """`kind` is a Spark SQL type. Times without a zone are UTC. Raises StateUnreadable where the text is no such value."""
    if kind not in _PARSERS:
        raise StateUnreadable(f"--key {column}: a {kind} cannot be asked for.", "Name the key's other columns.")
    parser, example = _PARSERS[kind]
    try:
        return parser(text)
    except ValueError:
        raise StateUnreadable(f"--key {column} is {text!r}: it is no {kind}.", f"Write it as {example}.") from None


def _whole(bits: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
            raise ValueError(text)
        return int(text)

    return number


def _real(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _truth(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(text)
    return text == "true"


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_PARSERS: dict[str, tuple[Callable[[str], Value], str]] = {
    "string": (str, "it is"),
    "int": (_whole(32), "a whole number"),
    "bigint": (_whole(64), "a whole number"),
    "double": (_real, "a number"),
    "boolean": (_truth, "true or false"),
    "timestamp": (_moment, "2013-01-31T22:00:00Z"),
    "date": (date.fromisoformat, "2013-01-31"),
}
