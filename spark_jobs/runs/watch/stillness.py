"""Stillness: how long nothing has moved in a run, for its two watches (stall.py, watchdog.py)."""

from __future__ import annotations

LOOKS = 30
"""How often to look in one stall_timeout; not more often than every SECONDS."""
SECONDS = 1.0
MISSED = 3
"""How many looks may be missed before the time without them does not count: nobody knows what
moved then.
"""

OUTSIDE_SECONDS = 300.0
"""What a run has at least for each phase but its query, in which less is seen to move: the start of
Spark, the import of Great Expectations, the checks.
"""

Movement = tuple[object, ...]
"""What differs if something has moved since the last look."""


class Pulse:
    """Counts what moves in a run outside of Spark: a phase that ends."""

    def __init__(self) -> None:
        self.beats = 0
        self.querying = False
        """Whether a query runs: then batches, jobs and tasks show that something moves."""

    def beat(self) -> None:
        """Something has moved."""
        self.beats += 1


PULSE = Pulse()
"""Of the runs of this process."""


class Stillness:
    """Compares what each look finds. Times are seconds of the monotonic clock."""

    def __init__(self, stall_timeout: float, now: float, more: float = 0) -> None:
        """`more`: seconds on top of stall_timeout."""
        self.interval = max(SECONDS, stall_timeout / LOOKS)
        """How often to look."""
        self._limit = stall_timeout + more
        self._last: Movement = ()
        self._moved = self._looked = now

    def due(self, now: float) -> bool:
        """Whether it is time to look."""
        return now - self._looked >= self.interval

    def too_long(self, movement: Movement, now: float, least: float = 0) -> bool:
        """Whether nothing has moved for the limit, and for `least` seconds. `movement`: what this
        look finds.
        """
        missed = now - self._looked > MISSED * self.interval
        self._looked = now
        if missed or movement != self._last:
            self._last, self._moved = movement, now
        return now - self._moved >= max(self._limit, least)
