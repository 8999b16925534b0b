"""Sessions by hand: what a session window does, with the copies dropped by the state itself."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StringType, StructField, StructType

PAUSE_MS = 6 * 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def tours(times: list[int]) -> list[list[int]]:
    """Ascending times in milliseconds, cut where nothing came for PAUSE_MS."""
    found: list[list[int]] = []
    for at in times:
        if found and at - found[-1][-1] <= PAUSE_MS:
            found[-1].append(at)
        else:
            found.append([at])
    return found


class Tours(StatefulProcessor):
    """Event id -> its time (ms); one timer: when the earliest tour held can be over."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._events = handle.getMapState(
            "events",
            StructType([StructField("event_id", StringType())]),
            StructType([StructField("at_ms", LongType())]),
        )

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            at_ms = -((_EPOCH - row.event_time.replace(tzinfo=UTC)) // timedelta(milliseconds=1))
            self._events.updateValue((row.event_id,), (at_ms,))
        self._wait()
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        held = sorted((at_ms, event_id) for (event_id,), (at_ms,) in self._events.iterator())
        over = [
            tour
            for tour in tours([at for at, _ in held])
            if tour[-1] + PAUSE_MS < timerValues.getCurrentWatermarkInMs()
        ]
        gone = sum(len(tour) for tour in over)
        for _, event_id in held[:gone]:
            self._events.removeKey((event_id,))
        if gone < len(held):
            self._wait()
        for tour in over:
            first, last = (_EPOCH + timedelta(milliseconds=at) for at in (tour[0], tour[-1]))
            yield Row(tail_number=key[0], began_at=first, ended_at=last, events=len(tour))

    def _wait(self) -> None:
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        times = sorted(at_ms for (at_ms,) in self._events.values())
        self._handle.registerTimer(tours(times)[0][-1] + PAUSE_MS + 1)

    def close(self) -> None:
        """Nothing to release."""
