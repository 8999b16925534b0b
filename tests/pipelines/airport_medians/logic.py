"""Few keys with many rows each: where handing over whole frames pays."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class Medians(StatefulProcessor):
    """State: the day's delays so far. One timer, at the end of the day."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._delays = handle.getListState(
            "delays", StructType([StructField("minutes", LongType())])
        )

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        for frame in rows:
            self._delays.appendList([(int(minutes),) for minutes in frame["delay_minutes"]])
        after = datetime.combine(key[1] + timedelta(days=1), time(), UTC)
        self._handle.registerTimer(int(after.timestamp() * 1000))
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        delays = pd.Series([minutes for (minutes,) in self._delays.get()])
        self._delays.clear()
        yield pd.DataFrame(
            {
                "origin": [key[0]],
                "day": [key[1]],
                "events": [len(delays)],
                "median_delay_minutes": [float(delays.median())],
            }
        )

    def close(self) -> None:
        """Nothing to release."""
