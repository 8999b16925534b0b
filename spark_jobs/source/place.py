"""Place: where one record is in its source: its parts, their order, and their columns. Those of
Spark: place_columns.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WHOLE: Final = -1
"""In place of an element's number: the whole value. Tables have null there, or no such column."""
PLACE: Final = ("partition", "offset", "element")
"""The columns of a place: int, bigint, int."""


class Place(NamedTuple):
    """Ascending in the order in which a partition is read."""

    partition: int
    offset: int
    element: int = WHOLE
    """The record's number in its value, of values with many (Topic.each)."""

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Place:
        """Of an ops table, or of the column kafka."""
        return cls.at(row["partition"], row["offset"], row.get("element"))

    @classmethod
    def at(cls, partition: int, offset: int, element: int | None = None) -> Place:
        """`element` as a table has it.

        >>> Place.at(3, 120, None)
        Place(partition=3, offset=120, element=-1)
        """
        return cls(partition, offset, WHOLE if element is None else element)

    @property
    def value(self) -> Place:
        """The place of the value that it is in."""
        return self._replace(element=WHOLE)

    @property
    def number(self) -> int | None:
        """The element, as a table has it."""
        return None if self.element == WHOLE else self.element

    def text(self, shown: Callable[[int], str] = str) -> str:
        """As a person types it; `shown` names a partition.

        >>> Place(3, 120).text(), Place(3, 120, 7).text()
        ('3:120', '3:120:7')
        """
        element = "" if self.element == WHOLE else f":{self.element}"
        return f"{shown(self.partition)}:{self.offset}{element}"

    def told(self, shown: Callable[[int], str] = str) -> str:
        """In words.

        >>> Place(3, 1200, 7).told()
        'partition 3 offset 1,200 element 7'
        """
        element = "" if self.element == WHOLE else f" element {self.element:,}"
        return f"partition {shown(self.partition)} offset {self.offset:,}{element}"


def selected_sql(table: str = "") -> str:
    """The columns of a place in an ops table, for SELECT."""
    of = f"{table}." if table else ""
    return f'{of}"partition", {of}"offset", coalesce({of}element, {WHOLE}) AS element'


def same_sql(one: str, other: str) -> str:
    """Whether rows of two tables are of one record, for ON."""
    return (
        f'{one}."partition" = {other}."partition" AND {one}."offset" = {other}."offset" '
        f"AND coalesce({one}.element, {WHOLE}) = coalesce({other}.element, {WHOLE})"
    )
