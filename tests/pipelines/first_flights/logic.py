"""What is remembered is forgotten by Spark itself, when its time to live is over."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

REMEMBERED_MS = 7 * 24 * 3_600_000


class Seen(StatefulProcessor):
    """State: that it was seen, for REMEMBERED_MS since it was first."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._seen = handle.getValueState("seen", StructType([StructField("seen", LongType())]), ttlDurationMs=REMEMBERED_MS)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if not self._seen.exists():
            self._seen.update((1,))
            yield Row(tail_number=key[0])

    def close(self) -> None:
        """Nothing to release."""
