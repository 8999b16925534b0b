"""Yields rows behind the watermark of the step that follows, for tests/spark/test_operators.py."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

DAY = timedelta(days=1)


class DayBefore(StatefulProcessor):
    """Each airport's rows of a batch as one, a day too early."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        yield Row(origin=key[0], seen_at=max(row.event_time for row in rows) - DAY)

    def close(self) -> None:
        """Nothing to release."""
