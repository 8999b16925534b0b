"""Slices: while it decodes, each task notes the span of event times of every thousand or so
consecutive offsets of a partition. So records of a time are found again without reading the others.

What is certain to be kept elsewhere is left out, or one stray record would make its slice one of
all times: premature records, which are in ops.quarantine, and records that are late for certain,
which are in ops.late. The times of the late ones are noted apart: before their rows in ops.late
expire, the slice takes them in (ops/slice_times.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

LEAST_OFFSETS: Final = 1_000
"""Offsets of a slice: fewer would cost more bytes than they save reading."""
MOST_SLICES: Final = 2_000
"""About the most slices of one batch: those of a larger one have more offsets each."""


Ids = tuple[tuple[str, int], ...]
"""Each id of a schema, of a key with "key " before it, and its records; in order."""


def summed(all_of_them: Iterable[Ids]) -> Ids:
    """
    >>> summed([(("3", 2),), (("10", 1), ("3", 1))])
    (('10', 1), ('3', 3))
    """
    total = Counter[str]()
    for ids in all_of_them:
        total.update(dict(ids))
    return tuple(sorted(total.items()))


class Times(NamedTuple):
    """The first and the last of some event times, in microseconds since the epoch."""

    first: int
    last: int

    def __bool__(self) -> bool:
        return self.first <= self.last

    def and_(self, other: Times) -> Times:
        """Those of both."""
        return Times(min(self.first, other.first), max(self.last, other.last))


NO_TIMES: Final = Times(2**63 - 1, -(2**63))


class Slice(NamedTuple):
    """Consecutive offsets of one partition."""

    partition: int
    first_offset: int
    last_offset: int
    records: int
    """All of them, of any outcome."""
    times: Times
    """Of the records that decode and are neither premature nor late for certain."""
    ahead: Times
    """Of such records too, that may be premature by the clock of their batch."""
    late: int
    """Records that are late for certain."""
    late_times: Times
    schemas: Ids = ()
    """The ids of schemas that its records begin with."""

    def and_(self, other: Slice) -> Slice:
        """Both as one, if they lie in the same thousand."""
        return Slice(
            self.partition,
            min(self.first_offset, other.first_offset),
            max(self.last_offset, other.last_offset),
            self.records + other.records,
            self.times.and_(other.times),
            self.ahead.and_(other.ahead),
            self.late + other.late,
            self.late_times.and_(other.late_times),
            summed([self.schemas, other.schemas]),
        )

    def settled(self, most_us: int) -> Slice:
        """With those of the records `ahead` that may not be premature: none is later than
        `most_us`.
        """
        if not self.ahead or self.ahead.first > most_us:
            return self._replace(ahead=NO_TIMES)
        kept = Times(self.ahead.first, min(self.ahead.last, most_us))
        return self._replace(times=self.times.and_(kept), ahead=NO_TIMES)


class SlicePolicy(NamedTuple):
    """How the tasks of one query note slices."""

    offsets: int
    """Of one slice."""
    late_ms: int | None
    """Event times at or before it are late for certain, in milliseconds since the epoch. It is told
    from the watermark of the query's first batch: no later one has an earlier watermark.
    """
    clock_ms: int
    """A time before every batch of the query, in milliseconds since the epoch."""

    @classmethod
    def of(cls, covered: int, late_ms: int | None, clock_ms: int) -> Self:
        """The policy of a query over so many offsets."""
        return cls(max(LEAST_OFFSETS, -(-covered // MOST_SLICES)), late_ms, clock_ms)
