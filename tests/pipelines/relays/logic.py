"""Timers that are set while timers fire, and are due as well, for tests/spark/test_replay.py."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

HOUR_MS = 3_600_000
LEGS = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Relay(StatefulProcessor):
    """An hour after a carrier's first event, and three times more an hour later, a row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._legs = handle.getValueState("legs", StructType([StructField("legs", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        first = min(row.event_time for row in rows).replace(tzinfo=UTC)
        self._legs.update((0,))
        self._handle.registerTimer((first - _EPOCH) // timedelta(milliseconds=1) + HOUR_MS)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        at_ms = expiredTimerInfo.getExpiryTimeInMs()
        (legs,) = self._legs.get()
        self._legs.update((legs + 1,))
        if self.goes_on(legs + 1):
            self._handle.registerTimer(at_ms + HOUR_MS)
        yield Row(carrier=key[0], at=_EPOCH + timedelta(milliseconds=at_ms))

    def goes_on(self, legs: int) -> bool:
        """Whether another leg follows after so many."""
        return legs < LEGS

    def close(self) -> None:
        """Nothing to release."""


class Endless(Relay):
    """The next is always due."""

    def goes_on(self, legs: int) -> bool:
        return True
