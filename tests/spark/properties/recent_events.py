"""A processor whose rows look back an hour: events of the key, and their sum."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from tests.harness.moments import at, us

HOUR_US = 3_600_000_000


class RecentEvents(StatefulProcessor):
    """State of one key: its events, until they are an hour behind the watermark."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        event = [
            StructField("at_us", LongType()),
            StructField("event_id", StringType()),
            StructField("value", LongType()),
            StructField("done", BooleanType()),
        ]
        self._handle = handle
        self._events = handle.getListState("events", StructType(event))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002 - Spark's
        """Let the events wait."""
        for row in rows:
            at_us = us(row.event_time.replace(tzinfo=UTC))
            self._events.appendValue((at_us, row.event_id, row.value, False))
            self._handle.registerTimer(-(-at_us // 1000))
        return iter(())

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,  # noqa: ARG002 - Spark names a processor's parameters
    ) -> Iterator[Row]:
        """Look back from each event that the watermark has passed."""
        watermark_us = timerValues.getCurrentWatermarkInMs() * 1000
        events = [tuple(row) for row in self._events.get()] if self._events.exists() else []
        for at_us, event_id, _, done in events:
            if at_us <= watermark_us and not done:
                recent = [value or 0 for t, _, value, _ in events if at_us - HOUR_US < t <= at_us]
                yield Row(
                    key=key[0],
                    event_id=event_id,
                    at=at(at_us),
                    number=len(recent),
                    total=sum(recent),
                )
        kept = [
            (at_us, event_id, value, at_us <= watermark_us)
            for at_us, event_id, value, _ in events
            if at_us > watermark_us - HOUR_US
        ]
        self._events.put(kept) if kept else self._events.clear()

    def close(self) -> None:
        """Nothing to release."""
