"""Own columns: the names that Sluice gives to columns which it adds to a pipeline's rows.

No field, key, measure or output column may have such a name, so nobody's column is taken for one of
these, or hides it. Nothing is imported here: each of Spark's Python workers loads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

PREFIX: Final = "_sluice_"
"""The first letters of all of them but one. No declared name begins with `_`."""
KAFKA: Final = "kafka"
"""A record's place and bytes: the one that a Transform before the first stateful step sees, and
keeps.
"""
ELEMENT: Final = "element"
"""In it, of a topic whose values have many records: the record's number in its value, from 0; null
for a value that is refused as a whole.
"""
EMPTY: Final = -1
"""That number where the list is empty."""
WINDOW: Final = "window"
"""The column by which an Aggregate with a window groups. It is in Spark's state, so it keeps its
name: neither a key nor a measure beside it may have that.
"""


def own(name: str) -> str:
    """The column's whole name.

    >>> own("copy")
    '_sluice_copy'
    """
    return PREFIX + name


def is_own(column: str) -> bool:
    """Whether the name is one of Sluice's. Spark finds a column whether its letters are large or
    small.
    """
    return column.lower() == KAFKA or column.lower().startswith(PREFIX)


MALFORMED: Final = own("malformed")
"""Why a record does not decode; null if it does."""
TRUNCATED: Final = "a truncate: all rows of the source's table are gone, and none of them is named"
"""Of a malformed record that tells of a truncate; it is counted by it."""
OUTCOME: Final = own("fate")
"""A record's outcome (steps/classify.py)."""
RULES: Final = own("rules")
"""For each rule of a record's topic whether it is fulfilled (steps/by_rules.py)."""
BUCKET: Final = own("bucket")
"""Of rows that enter a GroupState in buckets: the number of the row's bucket, an int. It is in
Spark's state.
"""

# Of a table that follows a key. Consumers see none of them, nor the rows that are deleted.
DELETED: Final = own("deleted")
"""Whether the row is a delete that is remembered: boolean, and the table's partition."""
DELETED_AT: Final = own("deleted_at")
"""When the batch with the delete was planned; null in other rows."""
PARTITION: Final = own("partition")
OFFSET: Final = own("offset")
PLACE: Final = (OFFSET, PARTITION)
"""The record's place in Kafka, which decides between equal values of `order_by`. All that a copy
writes: what stands in the row's other columns may be a person's correction.
"""
AT_ELEMENT: Final = own("element")
"""ELEMENT, of a topic whose values have many records. It is of the place then: see `place_in`."""
CONTENTS: Final = own("contents")
"""A number made of all other columns: two changes with equal ones are taken for one."""
SET: Final = own("set")
"""Of a Latest that keeps what a change does not say: for each field the position of the change that
set it. A change has the fields that it says.
"""
SET_CONTENTS: Final = own("set_contents")
"""Likewise the CONTENTS of that change, by which its copies are known. Rows that an older Sluice
wrote have null here.
"""
YOUNGER: Final = frozenset({SET_CONTENTS})
"""Those that tables of an older Sluice lack: the next run adds them."""
OF_A_KEY: Final = (
    DELETED_AT, PARTITION, OFFSET, AT_ELEMENT, CONTENTS, SET, SET_CONTENTS, DELETED,
)  # fmt: skip
"""All of these, in the order in which the table has them."""
WHOLE: Final = own("whole")
"""Of rows to merge: whether all their columns are written. If not, the table has the row, and gets
its place, and in a History the span.
"""


def place_in(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns of a record's place, among these."""
    return (*PLACE, *(name for name in columns if name == AT_ELEMENT))


def placed(order_by: Sequence[str], columns: Iterable[str]) -> tuple[str, ...]:
    """The columns of a change's position, the heaviest first. `columns`: the table's."""
    return (*order_by, *place_in(columns))


HEADERS: Final = "array<struct<key:string,value:binary>>"
"""In their order, a name as often as it was sent. A value may be null."""
