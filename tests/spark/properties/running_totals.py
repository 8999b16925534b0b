"""A processor that numbers each key's events by time, once the watermark has passed them."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tests.harness.moments import at, us


def order(at_us: int, event_id: str, value: int | None) -> tuple[object, ...]:
    """Of two events with one time the id decides, then the value."""
    return at_us, event_id, value is not None, value or 0


class RunningTotals(StatefulProcessor):
    """State of one key: the events that wait, and how many there were before, with their sum."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        event = [
            StructField("at_us", LongType()),
            StructField("event_id", StringType()),
            StructField("value", LongType()),
        ]
        self._handle = handle
        self._waiting = handle.getListState("waiting", StructType(event))
        sums = [StructField("number", LongType()), StructField("total", LongType())]
        self._so_far = handle.getValueState("so_far", StructType(sums))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002 - Spark's
        """Let the events wait."""
        for row in rows:
            at_us = us(row.event_time.replace(tzinfo=UTC))
            self._waiting.appendValue((at_us, row.event_id, row.value))
            self._handle.registerTimer(-(-at_us // 1000))
        return iter(())

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,  # noqa: ARG002 - Spark names a processor's parameters
    ) -> Iterator[Row]:
        """Number what the watermark has passed."""
        watermark_us = timerValues.getCurrentWatermarkInMs() * 1000
        held = self._waiting.get() if self._waiting.exists() else ()
        waiting = sorted((tuple(row) for row in held), key=lambda row: order(*row))
        due = [row for row in waiting if row[0] <= watermark_us]
        number, total = self._so_far.get() or (0, 0)
        for at_us, event_id, value in due:
            number = number + 1
            total = total + (value or 0)
            yield Row(key=key[0], event_id=event_id, at=at(at_us), number=number, total=total)
        if due:
            self._so_far.update((number, total))
            self._waiting.put(waiting[len(due) :]) if len(due) < len(
                waiting
            ) else self._waiting.clear()

    def close(self) -> None:
        """Nothing to release."""
