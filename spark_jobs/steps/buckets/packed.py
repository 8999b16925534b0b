"""Packed rows: many rows of one bucket as one value, an Arrow stream of their columns.

Spark hands a GroupState's code one row of a key after the other. Packed, a row stands for
thousands, and what it costs is paid once for all of them. Nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from spark_jobs.values.own_columns import own

BUCKET = own("bucket")
"""The input's column with the number of a row's bucket, an int. It is in Spark's state."""
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
