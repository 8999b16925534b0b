"""A planned micro-batch: the offsets that it covers, and the watermarks that are in force in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

Offsets = dict[int, int]
"""Kafka partition -> the next offset to read."""


class Batch(NamedTuple):
    """One planned micro-batch."""

    id: int
    start: Offsets
    end: Offsets
    watermark_ms: int
    """Milliseconds since the epoch: what this batch evicts by, and what the batch after it drops late rows by."""
    late_before_ms: int
    """Milliseconds since the epoch: rows at or before it were late in this batch (the watermark of the batch before)."""
    clock_ms: int = 0
    """Milliseconds since the epoch: the time when it was planned, by which timers and TTL of the clock go."""

    @property
    def covered(self) -> int:
        """How many offsets the batch spans."""
        return sum(end - self.start.get(partition, 0) for partition, end in self.end.items())

    @property
    def watermark(self) -> datetime | None:
        """The watermark in force, or None before there is one."""
        return datetime.fromtimestamp(self.watermark_ms / 1000, UTC) if self.watermark_ms > 0 else None
