"""Processors with every kind of variable, with and without TTL: what Spark stores is tested."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StringType, StructField, StructType

HOUR_MS = 3_600_000
NUMBER = StructType([StructField("n", LongType())])
LETTER = StructType([StructField("letter", StringType())])


class Rows(StatefulProcessor):
    """For transformWithState."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._last = handle.getValueState("last", NUMBER, ttlDurationMs=HOUR_MS)
        self._all = handle.getListState("all", NUMBER, ttlDurationMs=2 * HOUR_MS)
        self._by_letter = handle.getMapState("by_letter", LETTER, NUMBER)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for row in rows:
            self._keep(row.n)
        self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + HOUR_MS)
        return iter([Row(k=key[0])])

    def _keep(self, number: int) -> None:
        self._last.update((number,))
        self._all.appendValue((number,))
        self._by_letter.updateValue(("abc"[number],), (number,))

    def close(self) -> None:
        """Nothing to release."""


class Frames(Rows):
    """The same for transformWithStateInPandas."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for frame in rows:
            for number in frame["n"]:
                self._keep(int(number))
        self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + HOUR_MS)
        yield pd.DataFrame({"k": [key[0]]})


def summed(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """For applyInPandasWithState: the sum of n, and a timeout at a time that the test knows."""
    state.update((int(sum(frame["n"].sum() for frame in frames)), "seen"))
    state.setTimeoutTimestamp(1_900_000_000_000)
    yield pd.DataFrame({"k": [key[0]]})
