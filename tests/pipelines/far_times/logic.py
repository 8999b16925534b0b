"""Counts records by key and keeps their last scheduled time in state, in each form of a GroupState."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructField, StructType, TimestampType


class ByRow(StatefulProcessor):
    """A row for each record, with the time that the state had before."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getValueState("last", StructType([StructField("at", TimestampType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for row in rows:
            self._last.update((row.scheduled_time,))
            yield Row(event_id=row.event_id, held=self._last.get()[0])

    def close(self) -> None:
        """Nothing to release."""


class ByFrame(ByRow):
    """The same for transformWithStateInPandas."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for frame in rows:
            yield pd.DataFrame({"event_id": frame["event_id"], "held": frame["scheduled_time"]})


def by_function(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[Any]:
    """The same for applyInPandasWithState."""
    for frame in frames:
        state.update((frame["scheduled_time"].iloc[-1],))
        yield pd.DataFrame({"event_id": frame["event_id"], "held": frame["scheduled_time"]})


def in_buckets(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The same for buckets."""
    out = pa.table({"event_id": rows["event_id"], "held": rows["scheduled_time"]})
    last = rows.group_by("carrier").aggregate([("scheduled_time", "max")])
    return out, last.rename_columns({"scheduled_time_max": "last"})
