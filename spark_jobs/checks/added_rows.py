"""Added rows: what a small run appended, read by the driver itself.

Spark reads a table's changes by its log, a scan and a cache. In a fresh JVM that takes nearly two
processor seconds, however few rows there are (bench/NOTES.md).
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from spark_jobs.storage.delta import open_table
from spark_jobs.storage.delta_log import Log, Replay, changes_data
from spark_jobs.storage.features import MAPPING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from upath import UPath

LOG = logging.getLogger(__name__)
MOST_BYTES: Final = 4_000_000
"""Of the rows, in memory: more are Spark's work. They go to Spark within each task."""
VALUE_BYTES: Final = 8
"""What Spark has for each value at least; Arrow has a bit for a boolean."""
MOST_FILES: Final = 64
"""They are read one after the other, in an object store by a request each at least."""
ROWS_AT_ONCE: Final = 4096
"""Rows that are read before their bytes are looked at: a file has what repeats only once."""


def added_rows(spark: SparkSession, path: UPath, since: int, version: int) -> DataFrame | None:
    """The rows that versions after `since`, up to `version`, added, with the columns of `version`.

    None if Spark must tell: these versions removed, rearranged or only noted files, or changed the
    columns, a file lacks columns or has deleted rows, there are many rows, or something cannot be
    read.
    """
    try:
        made = Log.of(path).replay(version, since)
        if not made.added or not _only_adds(made):
            return None
        schema = _schema(path, version)
        rows = _read(path, made, schema) if schema else None
        return None if rows is None else spark.createDataFrame(rows, schema).coalesce(1)
    except Exception as error:  # noqa: BLE001 - Spark reads it then, or says why it cannot
        LOG.debug("%s: Spark reads versions %d to %d: %s", path, since + 1, version, error)
        return None


def _only_adds(made: Replay) -> bool:
    """Delta adds a file once more where it finds its statistics anew (StatisticsCollection)."""
    changed = made.removed or made.rewritten or made.metadata or made.protocol
    return not changed and all(
        changes_data(file) and not file.get("deletionVector") for file in made.added.values()
    )


def _schema(path: UPath, version: int) -> StructType | None:
    """The columns of the version; None if its files have others."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - a process that only plans has no Spark

    table = open_table(path)
    if table.version() != version:
        table.load_as_version(version)
    facts = table.metadata()
    if facts.partition_columns or facts.configuration.get(MAPPING, "none") != "none":
        return None
    return StructType.fromJson(json.loads(table.schema().to_json()))


def _read(path: UPath, made: Replay, schema: StructType) -> pa.Table | None:
    """None if there are too many rows. Raises ArrowInvalid or KeyError if a file has not the
    columns.
    """
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - as above

    sizes = [file["size"] for file in made.added.values()]
    if len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES:
        return None
    columns, total = to_arrow_schema(schema, timezone="UTC"), 0
    found = [columns.empty_table()]
    for file in made.added.values():
        with (path / unquote(file["path"])).open("rb") as opened:
            # Spark's timestamps may be of Parquet's oldest kind, and of years far from ours.
            parquet = pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
            for rows in parquet.iter_batches(ROWS_AT_ONCE, columns=columns.names):
                total += max(rows.nbytes, VALUE_BYTES * rows.num_rows * rows.num_columns)
                if total > MOST_BYTES:
                    return None
                part = pa.Table.from_batches([rows]).select(columns.names)
                found.append(part.cast(columns))
    return pa.concat_tables(found).combine_chunks()
