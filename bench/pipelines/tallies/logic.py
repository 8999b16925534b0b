"""A tally for each key. bench/row_state.py has the same logic."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class Tally(StatefulProcessor):
    """State: the key's records, and the sum of their minutes."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        both = StructType([StructField("records", LongType()), StructField("minutes", LongType())])
        self._tally = handle.getValueState("tally", both)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        records, minutes = self._tally.get() or (0, 0)
        for row in rows:
            records += 1
            minutes += row.delay_minutes
        self._tally.update((records, minutes))
        yield Row(tail_number=key[0], records=records, minutes=minutes)

    def close(self) -> None:
        """Nothing to release."""
