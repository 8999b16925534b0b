"""Columns: the values of one field, and what was wrong with some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spark_jobs.values.conversions import arrow_array

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """One field of many records."""

    array: pa.Array
    """In the type of the field; null where a value is wrong."""
    wrong: dict[int, str]
    """Number of the record -> what is wrong: words that follow the field's name."""


class Wrong(ValueError):
    """What is wrong with a value: words for a reason, with nothing of the value in them. Those of
    any other error may have it.
    """


def each_read(
    read: Callable[[Any], Any], values: Iterable[Any], otherwise: str
) -> tuple[list[Any], dict[int, str]]:
    """What `read` makes of each value but null, null where it raises; and by its number what is
    wrong: what a Wrong says, and of any other error `otherwise`.
    """
    found, wrong = list[Any](), dict[int, str]()
    for index, value in enumerate(values):
        result = None
        if value is not None:
            try:
                result = read(value)
            except Wrong as error:
                wrong[index] = str(error)
            except (ValueError, ArithmeticError, msgspec.DecodeError):
                wrong[index] = otherwise
        found.append(result)
    return found, wrong


def each_value(read: Callable[[Any], Any], kind: str, values: Iterable[Any]) -> Column:
    """The column of this type of what `read` makes of each value."""
    found, wrong = each_read(read, values, f"is no {kind}")
    return Column(arrow_array(found, kind), wrong)
