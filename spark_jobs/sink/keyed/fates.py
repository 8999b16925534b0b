"""Fates: what becomes of the changes of a batch, as a pure function of Arrow tables. No Spark here.

A change's position is its `order_by`, then its offset in Kafka, and its partition where two of them
have that offset: a total order that no batch, kill or re-read changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.values.own_columns import CONTENTS, DELETED, own, placed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALL, COPIES = own("all"), own("copies")
"""Columns of the newest change of each key in a batch: how many changes of the key the batch has,
and how many of them are copies of this one, itself among them: equal in order_by and contents.
"""
BEFORE: Final = own("before_")
"""The first letters of the columns with what the table has of the key; null where it has nothing.
"""


class Fates(NamedTuple):
    """How many changes of a batch ended how. Those up to `duplicates` make up the batch."""

    inserted: int = 0
    """The key had no row, and has one."""
    updated: int = 0
    deleted: int = 0
    """The key had a row, and has none."""
    absent: int = 0
    """Deletes of a key that had no row, or of what a delete has ended. They are remembered."""
    superseded: int = 0
    """Older than another change of the key."""
    duplicates: int = 0
    """Copies of the change that decides: equal in order_by and contents."""
    moved: int = 0
    """Of the duplicates, those whose place in Kafka is all that the row of the table gets."""
    ending: int = 0
    """Of the deletes, those that end a chain of a History and remove no row of it."""
    ended: int = 0
    """Versions of a History that have another span, or another value of what they lack, and no
    change of their own.
    """
    behind: int = 0
    """Of the superseded and the duplicates, those that the table's own row has kept out."""

    @property
    def all(self) -> int:
        """The changes of the batch."""
        return sum(self) - self.moved - self.ending - self.ended - self.behind

    @property
    def written(self) -> int:
        """The rows that the table's commit must have written."""
        return self.inserted + self.updated + self.deleted + self.absent + self.moved + self.ended

    @property
    def gained(self) -> int:
        """By how many rows that are no deletes the table has grown."""
        return self.inserted - self.deleted + self.ending

    @classmethod
    def of(cls, said: Mapping[str, object]) -> Self:
        """From what a commit says of itself."""
        return cls(**{name: int(str(said.get(name, 0))) for name in cls._fields})

    def __add__(self, other: tuple[object, ...]) -> Self:
        """Field by field.

        >>> Fates(updated=1) + Fates(updated=2, moved=1) == Fates(updated=3, moved=1)
        True
        """
        assert isinstance(other, Fates)
        return type(self)(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def compared(order_by: Sequence[str]) -> tuple[str, ...]:
    """The columns that must be known of what the table has of a key."""
    return (*placed(order_by), DELETED, CONTENTS)


def wins(newest: pa.Table, order_by: Sequence[str]) -> pa.ChunkedArray:
    """boolean: whether the row is to be written. `newest`: rows with BEFORE columns. A null there,
    which a person has written, is below all.
    """
    newer = pa.chunked_array([pa.array([False] * newest.num_rows, pa.bool_())])
    for name in reversed(placed(order_by)):
        mine, theirs = newest[name], newest[BEFORE + name]
        same = pc.and_kleene(pc.equal(mine, theirs), newer)
        newer = pc.or_kleene(pc.is_null(theirs), pc.or_kleene(pc.greater(mine, theirs), same))
    return pc.or_(pc.is_null(newest[BEFORE + DELETED]), newer)


def copies(newest: pa.Table, order_by: Sequence[str]) -> pa.ChunkedArray:
    """boolean: whether the row is a copy of what the table has."""
    copy = pc.is_valid(newest[BEFORE + DELETED])
    for name in (*order_by, DELETED, CONTENTS):
        equal = pc.equal(newest[name], newest[BEFORE + name])
        copy = pc.and_(copy, pc.fill_null(equal, fill_value=False))
    return copy


def fates(newest: pa.Table, order_by: Sequence[str]) -> Fates:
    """What became of all changes of which these are the newest of their keys: ALL, COPIES, the
    columns `compared`, and the same with BEFORE.
    """
    win, copy = wins(newest, order_by), copies(newest, order_by)
    delete, row = newest[DELETED], pc.equal(newest[BEFORE + DELETED], pa.scalar(value=False))
    had = pc.fill_null(row, fill_value=False)
    news = pc.and_not(win, copy)
    rest = [_sum(newest[ALL]) - _sum(newest[COPIES]), _sum(newest[COPIES]) - newest.num_rows]
    return Fates(
        inserted=_count(news, pc.invert(delete), pc.invert(had)),
        updated=_count(news, pc.invert(delete), had),
        deleted=_count(news, delete, had),
        absent=_count(news, delete, pc.invert(had)),
        superseded=_count(pc.invert(win), pc.invert(copy)) + rest[0],
        duplicates=_count(copy) + rest[1],
        moved=_count(win, copy),
        behind=_count(pc.invert(win)),
    )


def _count(first: pa.ChunkedArray, *others: pa.ChunkedArray) -> int:
    """Rows in which all of these are true."""
    for other in others:
        first = pc.and_(first, other)
    return _sum(first)


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
