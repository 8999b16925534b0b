"""Which aircraft an airport sees for the first time on a day."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class FirstOfDay(StatefulProcessor):
    """State: that it was seen, until the day is over."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._seen = handle.getValueState("seen", StructType([StructField("seen", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if not self._seen.exists():
            self._seen.update((1,))
            over = datetime.combine(key[1] + timedelta(days=1), time(), UTC)
            self._handle.registerTimer(int(over.timestamp() * 1000))
            yield Row(origin=key[0], seen_at=max(row.event_time for row in rows))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        self._seen.clear()
        return iter(())

    def close(self) -> None:
        """Nothing to release."""
