"""What is remembered is forgotten by Spark itself, when its time to live is over."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class Seen(StatefulProcessor):
    """State: that it was seen, for a week since it was first."""

    remembered_ms = 7 * 24 * 3_600_000

    def init(self, handle: StatefulProcessorHandle) -> None:
        seen = StructType([StructField("seen", LongType())])
        self._seen = handle.getValueState("seen", seen, ttlDurationMs=self.remembered_ms)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if not self._seen.exists():
            self._seen.update((1,))
            yield Row(tail_number=key[0])

    def close(self) -> None:
        """Nothing to release."""


class SeenBriefly(Seen):
    """The same, for half a second."""

    remembered_ms = 500
