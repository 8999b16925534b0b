"""The StatefulProcessor of a GroupState in buckets: Spark's key is a bucket.

A file of its own: each Python worker loads it, and a spec, which packing.py needs, takes a
quarter of a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from spark_jobs.steps.buckets.bucket import Bucket
from spark_jobs.steps.buckets.packed import to_bytes, to_table

STATE = "state"
"""The state variable with a bucket's keys and their state, as an Arrow stream."""
KEYS = "keys"
"""The state variable with the number of a bucket's keys."""
ANSWER_DDL = "rows binary, keys bigint, written bigint, removed bigint"
"""What it yields for each bucket that a batch visits: the output, packed, or null; how many keys it
has now; how many of them the batch wrote; how many it removed.
"""


class InBuckets(StatefulProcessor):
    """Calls the pipeline's code, once for a bucket in a batch."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the bucket's state and the number of its keys, which is read without it."""
        self._state = handle.getValueState(
            STATE, StructType([StructField("columns", BinaryType())])
        )
        self._keys = handle.getValueState(KEYS, StructType([StructField("keys", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002 - Spark names them
        """One row for the bucket: its output, packed, and its counts."""
        packed = [row.rows for row in rows if row.rows is not None]
        if not packed:
            [keys] = self._keys.get() or (0,)
            yield _row(None, keys)
            return
        held = self._state.get()
        change = self._bucket.after(to_table(packed), to_table(held) if held else None)
        keys = change.state.num_rows
        if keys:
            self._state.update((to_bytes(change.state),))
            self._keys.update((keys,))
        else:
            self._state.clear()
            self._keys.clear()
        yield _row(change.output, keys, change.written, change.removed)

    def close(self) -> None:
        """Nothing to release."""


def _row(output: pa.Table | None, keys: int, written: int = 0, removed: int = 0) -> Row:
    rows = to_bytes(output) if output is not None and output.num_rows else None
    return Row(rows=rows, keys=keys, written=written, removed=removed)
