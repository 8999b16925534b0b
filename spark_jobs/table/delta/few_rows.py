"""Few rows: rows of a table that the driver reads itself, for Spark.

Spark looks at the table's log by queries of its own, and plans a scan: seconds in a fresh JVM,
however few rows there are (bench/NOTES.md).
"""

from __future__ import annotations

import json
import logging
from functools import reduce
from operator import ge, gt, le, lt, or_
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.table.arrow_rows import ROWS_AT_ONCE, VALUE_BYTES, few, to_spark
from spark_jobs.table.delta.door import dataset, open_table, untried

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import deltalake
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from upath import UPath

    from spark_jobs.values.spans import Position, Span

LOG = logging.getLogger(__name__)
MOST_READ: Final = 16_000_000
"""Bytes of the files that may have them."""
MOST_AT_ONCE: Final = 16_000_000
"""Of a group of rows, in memory as Spark has numbers: pyarrow decodes a whole one. Texts that
repeat in it take more.
"""
MOST_FILES: Final = 64
"""They are read one after the other, in an object store by a request each at least."""


def few_rows(
    spark: SparkSession, path: UPath, version: int, position: Position, spans: Sequence[Span]
) -> DataFrame | None:
    """The rows of the table's version within the spans, with the table's columns.

    None if Spark must read them: there are many, the table has a feature with which this was not
    tried, or something cannot be read. Spark then says what.
    """
    try:
        table = open_table(path)
        if table.version() != version:
            table.load_as_version(version)
        if untried(table):
            return None
        files = dataset(table, position.sql(spans))
        rows = _within(files, expression(position, spans, files.schema))
        return None if rows is None else to_spark(spark, rows, columns(table))
    except Exception as error:  # noqa: BLE001 - as the docstring has it
        LOG.info("%s: Spark reads version %d: %s: %s", path, version, type(error).__name__, error)
        return None


def expression(position: Position, spans: Iterable[Span], columns: pa.Schema) -> pc.Expression:
    """position.sql(spans) for pyarrow, of a table with these columns."""
    lower, upper = (ge, lt) if position.edge == "instant" else (gt, le)
    column, kind = pc.field(position.column), columns.field(position.column).type
    return reduce(
        or_,
        (
            lower(column, pa.scalar(span.start, kind)) & upper(column, pa.scalar(span.end, kind))
            for span in spans
        ),
    )


def _within(files: Any, where: pc.Expression) -> pa.Table | None:
    """The rows, read file by file; None if that would be much to read, or to hold."""
    if len(files.files) > MOST_FILES:
        return None
    if sum(file.size for file in files.filesystem.get_file_info(files.files)) > MOST_READ:
        return None
    if any(_is_sparks(file, where, files.schema) for file in files.get_fragments()):
        return None
    found = few(
        files.to_batches(
            filter=where,
            batch_size=ROWS_AT_ONCE,
            batch_readahead=0,
            fragment_readahead=1,
            use_threads=False,
        )
    )
    return None if found is None else pa.Table.from_batches(found, files.schema)


def _is_sparks(file: Any, where: pc.Expression, table: pa.Schema) -> bool:
    """Whether it has a large group of rows, or a name that Spark alone finds, whose case is not the
    table's.
    """
    known = {path.lower(): path for path in _paths(table)}
    spelled = all(known.get(path.lower(), path) == path for path in _paths(file.physical_schema))
    largest = max((group.num_rows for group in file.subset(where).row_groups), default=0)
    return not spelled or largest * len(table) * VALUE_BYTES > MOST_AT_ONCE


def _paths(fields: Iterable[pa.Field], above: str = "", *, named: bool = True) -> Iterator[str]:
    """Of all fields, and of those within them. What an array has is not `named`."""
    for field in fields:
        path, kind = f"{above}\0{field.name if named else ''}", field.type
        yield path
        parts = (kind.field(number) for number in range(kind.num_fields))
        yield from _paths(parts, path, named=pa.types.is_struct(kind))


def columns(table: deltalake.DeltaTable) -> StructType:
    """The table's columns, as Spark has them."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - a process that only plans has no Spark

    return StructType.fromJson(json.loads(table.schema().to_json()))
