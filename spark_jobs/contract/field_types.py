"""The types that a field of a record can have: one table. spark_jobs/type_conversions.py converts them.

A new type is a row of FIELD_TYPES and a line in each function of type_conversions.py; tests/unit/test_field_types.py names what
is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import NamedTuple

Value = str | int | float | bool | datetime | date
"""What a field holds in Python. A datetime has a time zone."""


class FieldType(NamedTuple):
    """One type."""

    parse: Callable[[str], Value]
    """A text that a person typed, as a value. Raises ValueError where it is none."""
    example: str
    """How a person writes a value."""


def _whole(bits: int) -> Callable[[str], int]:
    """A signed number of so many bits."""
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
    """Without a zone it is UTC."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


FIELD_TYPES: dict[str, FieldType] = {
    "string": FieldType(str, "it is"),
    "int": FieldType(_whole(32), "a whole number"),
    "bigint": FieldType(_whole(64), "a whole number"),
    "double": FieldType(_real, "a number"),
    "boolean": FieldType(_truth, "true or false"),
    "timestamp": FieldType(_moment, "2013-01-31T22:00:00Z"),
    "date": FieldType(date.fromisoformat, "2013-01-31"),
}
"""Spark SQL's name of a type -> the type."""
