"""The types of a record's fields without parts, in one table. spark_jobs/values/conversions.py
converts their values.

A new type is a row of FIELD_TYPES and of SCALARS (type_tree.py), and a line in each function of
values/conversions.py.
tests/unit/test_field_types.py names what is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from spark_jobs.values import type_tree
from spark_jobs.values.times import utc

Value = str | int | float | bool | bytes | Decimal | datetime | date
"""A field's value in Python, if it has no parts. A datetime has a time zone, but for timestamp_ntz.
"""


class FieldType(NamedTuple):
    """One type."""

    parse: Callable[[str], Value]
    """Parses text that a person typed. Raises ValueError."""
    example: str
    """How a person writes a value; it ends a sentence: "Write it as ..."."""


def _integer(bits: int) -> Callable[[str], int]:

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
    return utc(datetime.fromisoformat(text))


def _local(text: str) -> datetime:
    given = datetime.fromisoformat(text)
    if given.tzinfo is not None:
        raise ValueError(text)
    return given


FIELD_TYPES: dict[str, FieldType] = {
    "string": FieldType(str, "it is"),
    "smallint": FieldType(_integer(16), "a whole number"),
    "int": FieldType(_integer(32), "a whole number"),
    "bigint": FieldType(_integer(64), "a whole number"),
    "float": FieldType(_finite, "a number"),
    "double": FieldType(_finite, "a number"),
    "boolean": FieldType(_boolean, "true or false"),
    "binary": FieldType(bytes.fromhex, "hexadecimal digits"),
    "timestamp": FieldType(_timestamp, "2013-01-31T22:00:00Z"),
    "timestamp_ntz": FieldType(_local, "2013-01-31T22:00:00"),
    "date": FieldType(date.fromisoformat, "2013-01-31"),
}
"""Spark SQL's name of the type -> the type."""


def field_type(kind: str) -> FieldType | None:
    """Of any type without parts; None of one that has parts, or that is none.

    >>> field_type("decimal(4,2)").parse("12.5")
    Decimal('12.5')
    """
    try:
        tree = type_tree.parsed(kind)
    except ValueError:  # a column of which only Spark knows the type
        return None
    if isinstance(tree, type_tree.Decimal):
        return FieldType(_decimal(tree), "12.50")
    return FIELD_TYPES.get(kind)


def _decimal(tree: type_tree.Decimal) -> Callable[[str], Decimal]:
    def number(text: str) -> Decimal:
        found = Decimal(text)
        if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", text) or not fits(found, tree):
            raise ValueError(text)
        return found

    return number


def fits(number: Decimal, tree: type_tree.Decimal) -> bool:
    """Whether the type has it without rounding.

    >>> tree = type_tree.Decimal(3, 1)
    >>> fits(Decimal("12.50"), tree), fits(Decimal("12.55"), tree)
    (True, False)
    """
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return False  # it is no number, or infinite
    if not any(digits):
        return True
    while exponent < -tree.scale:
        if digits[-1]:
            return False
        digits, exponent = digits[:-1], exponent + 1
    return len(digits) + exponent <= tree.precision - tree.scale
