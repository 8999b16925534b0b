"""A planned micro-batch: its offsets, watermarks and clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from spark_jobs.source.place import Place
from spark_jobs.source.positions import Parts, Positions
from spark_jobs.values.times import EPOCH, at_milliseconds

MILLISECOND: Final = timedelta(milliseconds=1)


def logged(at: datetime) -> int:
    """A time as Spark's logs have it, in milliseconds since the epoch: the last one before it."""
    return (at - EPOCH) // MILLISECOND


def of_log(milliseconds: int) -> datetime | None:
    """The way back; None of 0, which is none."""
    return at_milliseconds(milliseconds) if milliseconds > 0 else None


class Batch(NamedTuple):
    """One planned micro-batch."""

    id: int
    start: Positions
    end: Positions
    watermark_ms: int
    """Milliseconds since the epoch: the watermark by which this batch evicts state, and the next
    batch drops late rows.
    """
    late_before_ms: int
    """Milliseconds since the epoch: this batch drops rows at or before it as late (the watermark of
    the batch before).
    """
    clock_ms: int = 0
    """Milliseconds since the epoch: when Spark planned the batch.

    Processing-time timers and TTL use this time.
    """

    @property
    def parts(self) -> Parts:
        """Its offsets. Of a partition without any, an empty range."""
        start = self.start.by_partition
        return {p: ((start.get(p, 0), end),) for p, end in self.end.by_partition.items()}

    @property
    def covered(self) -> int:
        """How many offsets the batch spans."""
        return sum(stop - first for [(first, stop)] in self.parts.values())

    def has(self, place: Place) -> bool:
        """Whether it is at an offset of the batch."""
        return self.end.passed(place) and not self.start.passed(place)

    def since(self, first: Positions) -> Batch:
        """The part of the batch that begins at these offsets.

        >>> batch = Batch(7, Positions({0: 10, 1: 5}), Positions({0: 20, 1: 9}), 0, 0)
        >>> batch.since(Positions({0: 14, 1: 30})).start
        {0: 14, 1: 9}
        """
        start = self.start.maximum(first).among(self.end)
        zero = Positions(dict.fromkeys(self.end.partitions, 0))
        return self._replace(start=(zero | start).minimum(self.end))

    @property
    def watermark(self) -> datetime | None:
        """The watermark in UTC; None before Spark has one."""
        return of_log(self.watermark_ms)
