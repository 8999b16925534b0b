"""The StatefulProcessor of a GroupState in buckets: Spark's key is a bucket.

A file of its own: each Python worker loads it, and a spec, which group_state.py needs, takes a
quarter of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from spark_jobs.steps.bucket import Bucket
from spark_jobs.values.own_columns import BUCKET

PACKED = pa.schema([(BUCKET, pa.int32()), ("rows", pa.binary())])
"""What `pack` gives; rows is null where it only visits a bucket."""
BYTES_TOGETHER = 32 << 20
"""So many bytes of rows are sorted by bucket and packed at once, and held in memory."""


def pack(batches: Iterable[pa.RecordBatch], buckets: int) -> Iterator[pa.RecordBatch]:
    """The rows of one partition, in batches with the column BUCKET, packed as PACKED says: of each
    bucket in their order. Last a visit to each bucket, whether it has rows or not: so that every
    batch of a query can count all keys.
    """
    waiting, size = list[pa.RecordBatch](), 0
    for batch in batches:
        waiting, size = [*waiting, batch], size + batch.nbytes
        if size >= BYTES_TOGETHER:
            yield _packed(waiting)
            waiting, size = [], 0
    if any(batch.num_rows for batch in waiting):
        yield _packed(waiting)
    numbers = pa.array(range(buckets), pa.int32())
    yield pa.record_batch([numbers, pa.nulls(buckets, pa.binary())], PACKED)


def _packed(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches)
    numbers = table.column(BUCKET).to_numpy()
    order = np.argsort(numbers, kind="stable")
    in_order = numbers[order]
    starts = np.flatnonzero(np.diff(in_order, prepend=-1))  # no bucket has the number -1
    ends = [*starts[1:], len(in_order)]
    rows = table.drop_columns([BUCKET]).take(pa.array(order)).combine_chunks()
    parts = [
        to_bytes(rows.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)
    ]
    return pa.record_batch(
        [pa.array(in_order[starts], pa.int32()), pa.array(parts, pa.binary())], PACKED
    )


def to_bytes(table: pa.Table) -> bytes:
    """The table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def to_table(streams: Iterable[bytes]) -> pa.Table:
    """The rows of one stream or more, one behind the other. At least one, of equal schemas."""
    return pa.concat_tables([pa.ipc.open_stream(stream).read_all() for stream in streams])


def unpack(batches: Iterable[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """The rows that are packed in that column, one behind the other."""
    for batch in batches:
        for stream in batch.column(column).to_pylist():
            yield from to_table([stream]).to_batches()


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
