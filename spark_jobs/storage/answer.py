"""Answer: what a query of delta-rs gives, as a table of PyArrow."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def reader_of(answer: Any) -> pa.RecordBatchReader:  # Any: the readers of delta-rs have no types
    """The answer of a QueryBuilder's `execute`, of any number of rows."""
    import pyarrow as pa  # noqa: PLC0415 - a plan with nothing new reads no table

    return pa.RecordBatchReader.from_stream(answer)


def table_of(answer: Any) -> pa.Table:  # Any: as above
    """The whole answer, in memory.

    pa.table() gives the same, but first imports pandas, to ask whether it was given a frame of it:
    half a second of each command that reads a table.
    """
    return reader_of(answer).read_all()


def aside(schema: pa.Schema, parts: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """The same parts, for delta-rs to write: each is made in a thread beside the one that asks for
    it.

    delta-rs asks for the rows that it is to write in threads of its own, and in these no table can
    be read: a write of what a query answers, part by part, would end with a panic.
    """
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.RecordBatchReader.from_batches(schema, _in_a_thread(parts))


def _in_a_thread(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with ThreadPoolExecutor(1) as beside:
        while (part := beside.submit(next, parts, None).result()) is not None:
            yield part
