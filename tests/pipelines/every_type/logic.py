"""Keeps the last record of a key in state, whole, and gives it back, in each form of a GroupState."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructField, StructType

from spark_jobs.values.conversions import spark_type

TYPES = (
    *("string", "smallint", "int", "bigint", "float", "double", "boolean", "binary", "timestamp"),
    *("timestamp_ntz", "date", "decimal(12,2)", "array<decimal(4,1)>"),
    *("struct<a:int,B:array<timestamp>>", "map<string,smallint>"),
)
NAMES = [f"f{number}" for number in range(len(TYPES))]
PLAIN = [name for name, kind in zip(NAMES, TYPES, strict=True) if "<" not in kind]
WHOLE = StructType([StructField(n, spark_type(k)) for n, k in zip(NAMES, TYPES, strict=True)])


def _kept(value: Any, name: str) -> Any:
    """As Spark's state takes it: it gives Python a map as pairs, and pandas an array as numpy's."""
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    return dict(plain) if name == NAMES[-1] and plain is not None else plain


class EveryRow(StatefulProcessor):
    """A row for each record, out of the state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getValueState("last", WHOLE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for row in rows:
            self._last.update(tuple(_kept(row[name], name) for name in NAMES))
            kept = self._last.get()
            yield Row(**dict(zip(NAMES, kept, strict=True)))

    def close(self) -> None:
        """Nothing to release."""


class EveryFrame(EveryRow):
    """The same for transformWithStateInPandas."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for frame in rows:
            self._last.update(tuple(_kept(frame[name].iloc[-1], name) for name in NAMES))
            yield pd.DataFrame([dict(zip(NAMES, self._last.get(), strict=True))] * len(frame))


def every_by_function(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[Any]:
    """The same for applyInPandasWithState."""
    for frame in frames:
        state.update(tuple(_kept(frame[name].iloc[-1], name) for name in PLAIN))
        yield frame[NAMES]


def every_in_buckets(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The same for buckets: each key once."""
    places = {key: at for at, key in enumerate(rows["f0"].to_pylist())}
    last = rows.select(NAMES).take(pa.array(sorted(places.values())))
    return last, last
