"""Answer: what a query of delta-rs gives, as PyArrow's: the one door to its SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import deltalake
from deltalake.exceptions import DeltaError

if TYPE_CHECKING:
    import pyarrow as pa

EXACT: Final = {"datafusion.execution.parquet.coerce_int96": "us"}
"""Times that plain Spark wrote keep their years: as nanoseconds, delta-rs' default, those before
1677 and behind 2262 become others.
"""
TORN: Final = "spark_jobs.table.delta.whole:refuse_torn"
"""What finds the file that a reader has failed on."""


def streamed(
    sql: str, tables: Mapping[str, deltalake.DeltaTable], settings: Mapping[str, str] | None = None
) -> pa.RecordBatchReader:
    """The answer to SQL (DataFusion's) over tables by name, of any number of rows. `settings` are
    DataFusion's.
    """
    builder = deltalake.QueryBuilder(EXACT | dict(settings or {}))
    for name, table in tables.items():
        builder.register(name, table)
    return reader_of(builder.execute(sql))


def reader_of(given: Any) -> pa.RecordBatchReader:  # Any: the readers of delta-rs have no types
    """What a reader of delta-rs gives."""
    import pyarrow as pa  # noqa: PLC0415 - a plan with nothing new reads no table

    return pa.RecordBatchReader.from_stream(given)


def answer(sql: str, tables: Mapping[str, deltalake.DeltaTable]) -> pa.Table:
    """The whole answer, in memory, as `streamed` gives it. Raises TableChanged for a torn file.

    pa.table() gives the same, but first imports pandas, to ask whether it was given a frame of it:
    half a second of each command that reads a table.
    """
    with torn_named(tables.values):
        return streamed(sql, tables).read_all()


@contextmanager
def torn_named(tables: Callable[[], Iterable[deltalake.DeltaTable]]) -> Iterator[None]:
    """Within the block TableChanged names a file of these tables that is not as their logs say."""
    try:
        yield
    except (DeltaError, OSError, ValueError) as error:  # Arrow's are ValueErrors
        resolve_name(TORN)(tables(), error)
        raise


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
