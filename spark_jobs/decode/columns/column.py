"""Columns: the values of one field, and what was wrong with some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """One field of many records."""

    array: pa.Array
    """In the type of the field; null where a value is wrong."""
    wrong: dict[int, str]
    """Number of the record -> what is wrong: words that follow the field's name."""
