"""The tally of bench/pipelines/tallies, frame by frame."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class Tally(StatefulProcessor):
    """State: the key's records, and the sum of their minutes."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        both = StructType([StructField("records", LongType()), StructField("minutes", LongType())])
        self._tally = handle.getValueState("tally", both)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        records, minutes = self._tally.get() or (0, 0)
        for frame in rows:
            records += len(frame)
            minutes += int(frame["delay_minutes"].sum())
        self._tally.update((records, minutes))
        yield pd.DataFrame({"tail_number": [key[0]], "records": [records], "minutes": [minutes]})

    def close(self) -> None:
        """Nothing to release."""
