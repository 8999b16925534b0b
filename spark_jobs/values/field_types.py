"""The types of a record's fields, in one table. spark_jobs/values/conversions.py converts their
values.

A new type is a row of FIELD_TYPES and a line in each function of values/conversions.py.
tests/unit/test_field_types.py names what is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import NamedTuple

Value = str | int | float | bool | datetime | date
"""A field's value in Python. A datetime has a time zone."""


class FieldType(NamedTuple):
    """One type."""

    parse: Callable[[str], Value]
    """Parses text that a person typed. Raises ValueError."""
    example: str
    """How a person writes a value; it ends a sentence: "Write it as ..."."""


def _integer(bits: int) -> Callable[[str], int]:
    """A parser of signed whole numbers with `bits` bits."""

    def number(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or not -(2 ** (bits - 1)) <= int(
            text
        ) < 2 ** (bits - 1):
            raise ValueError(text)
        return int(text)

    return number


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _boolean(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(text)
    return text == "true"


def _timestamp(text: str) -> datetime:
    """In UTC. A text without a time zone is UTC."""
    given = datetime.fromisoformat(text)
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


FIELD_TYPES: dict[str, FieldType] = {
    "string": FieldType(str, "it is"),
    "int": FieldType(_integer(32), "a whole number"),
    "bigint": FieldType(_integer(64), "a whole number"),
    "double": FieldType(_finite, "a number"),
    "boolean": FieldType(_boolean, "true or false"),
    "timestamp": FieldType(_timestamp, "2013-01-31T22:00:00Z"),
    "date": FieldType(date.fromisoformat, "2013-01-31"),
}
"""Spark SQL's name of the type -> the type."""
