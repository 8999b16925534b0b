"""An alarm clock a key: each event winds it up anew."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class Quiet(StatefulProcessor):
    """State: events since the last alarm. One timer, which new events put off."""

    quiet_ms = 1000

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._events = handle.getValueState(
            "events", StructType([StructField("events", LongType())])
        )

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        (before,) = self._events.get() or (0,)
        self._events.update((before + sum(1 for _ in rows),))
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + self.quiet_ms)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        (events,) = self._events.get()
        self._events.clear()
        yield Row(origin=key[0], events=events)

    def close(self) -> None:
        """Nothing to release."""
