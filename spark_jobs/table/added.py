"""Added: columns that a table has got behind rows of it. Each says since which version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

MARK: Final = "sluice.added"
"""In the metadata of a column: the version of the table that first had it."""


def is_added(field: StructField) -> bool:
    """Whether the table has rows from before this column of it."""
    return MARK in field.metadata


def added_in(field: StructField) -> int:
    """The version of the table that first had this column of it; 0 of one that it began with."""
    return int(field.metadata.get(MARK, 0))
