"""A planned micro-batch: its offsets, watermarks and clock."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from spark_jobs.values.times import at_milliseconds

Offsets = dict[int, int]
"""Partition of the source -> the next offset to read."""
Offset = tuple[int, int]
"""Offsets of one partition, from the first one up to the second one, which is not among them."""
Parts = dict[int, tuple[Offset, ...]]
"""Partition -> ranges of offsets, ascending. A partition without any is not among them."""


class Batch(NamedTuple):
    """One planned micro-batch."""

    id: int
    start: Offsets
    end: Offsets
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
        return {p: ((self.start.get(p, 0), end),) for p, end in self.end.items()}

    @property
    def covered(self) -> int:
        """How many offsets the batch spans."""
        return sum(end - self.start.get(partition, 0) for partition, end in self.end.items())

    def since(self, first: Offsets) -> Batch:
        """The part of the batch that begins at these offsets.

        >>> Batch(7, {0: 10, 1: 5}, {0: 20, 1: 9}, 0, 0).since({0: 14, 1: 30}).start
        {0: 14, 1: 9}
        """
        start = {
            partition: min(max(self.start.get(partition, 0), first.get(partition, 0)), end)
            for partition, end in self.end.items()
        }
        return self._replace(start=start)

    @property
    def watermark(self) -> datetime | None:
        """The watermark in UTC; None before Spark has one."""
        return at_milliseconds(self.watermark_ms) if self.watermark_ms > 0 else None
