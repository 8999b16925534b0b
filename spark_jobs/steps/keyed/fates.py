"""Fates: what became of the changes of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """Of the superseded and the duplicates, those at whose place the table's own row stays."""

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
