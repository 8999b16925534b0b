"""Answer: what a query of delta-rs gives, as a table of PyArrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def table_of(answer: Any) -> pa.Table:  # Any: the readers of delta-rs have no types
    """The whole answer of a QueryBuilder's `execute`, in memory.

    pa.table() gives the same, but first imports pandas, to ask whether it was given a frame of it:
    half a second of each command that reads a table.
    """
    return pa.RecordBatchReader.from_stream(answer).read_all()
