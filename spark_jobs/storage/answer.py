"""Answer: what a query of delta-rs gives, as a table of PyArrow."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa


def table_of(answer: Any) -> pa.Table:  # Any: the readers of delta-rs have no types
    """The whole answer of a QueryBuilder's `execute`, in memory.

    pa.table() gives the same, but first imports pandas, to ask whether it was given a frame of it:
    half a second of each command that reads a table.
    """
    return pa.RecordBatchReader.from_stream(answer).read_all()


def aside(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same parts, each made in a thread beside the one that asks for it.

    delta-rs asks for the rows that it is to write in threads of its own, and in these no table can
    be read: a write of what a query answers, part by part, would end with a panic.
    """
    with ThreadPoolExecutor(1) as beside:
        while (part := beside.submit(next, parts, None).result()) is not None:
            yield part
