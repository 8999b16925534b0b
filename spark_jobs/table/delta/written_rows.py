"""Written rows: what some versions of a table wrote, as it is now; and what a small run added or
changed by key, read by the driver itself.

A person who mends failing rows by DELETE, UPDATE or MERGE is judged by what is left. In update mode
a key has its last row only.

Spark reads a table's changes by its log, a scan and a cache. In a fresh JVM that takes nearly two
processor seconds, however few rows there are (bench/NOTES.md).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window, functions as F

from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table import history
from spark_jobs.table.arrow_rows import (
    MOST_BYTES,
    ROWS_AT_ONCE,
    arrow_schema,
    few,
    parquet_file,
    to_spark,
)
from spark_jobs.table.delta.answer import reader_of
from spark_jobs.table.delta.delta_log import Log, Replay, changes_data
from spark_jobs.table.delta.door import MAPPING, change_feed, open_table, untried
from spark_jobs.table.delta.few_rows import MOST_FILES, columns
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import StructType
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.table.port import Table

KIND: Final = "_change_type"
VERSION: Final = "_commit_version"


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
        if (schema := _schema(path, version)) is None:
            return None
        rows = _read(path, made, schema)
        return None if rows is None else to_spark(spark, rows, schema)
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
    table = open_table(path)
    if table.version() != version:
        table.load_as_version(version)
    facts = table.metadata()
    if facts.partition_columns or facts.configuration.get(MAPPING, "none") != "none":
        return None
    return columns(table)


def _read(path: UPath, made: Replay, schema: StructType) -> pa.Table | None:
    """None if there are too many rows. Raises ArrowInvalid or KeyError if a file has not the
    columns.
    """
    sizes = [file["size"] for file in made.added.values()]
    if len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES:
        return None
    wanted = arrow_schema(schema)
    found = few(_batches(path, made, wanted))
    return None if found is None else pa.Table.from_batches(found, wanted)


def _batches(path: UPath, made: Replay, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    for file in made.added.values():
        with parquet_file(path / unquote(file["path"])) as parquet:
            for rows in parquet.iter_batches(ROWS_AT_ONCE, columns=wanted.names):
                yield rows.select(wanted.names).cast(wanted)


def changed_rows(spark: SparkSession, path: UPath, since: int, version: int) -> DataFrame | None:
    """Delta's change feed of the versions after `since`, up to `version`: the table's columns, KIND
    and VERSION.

    None if Spark must tell: there is much, or something cannot be read.
    """
    from pyspark.sql.types import LongType, StringType, StructField, StructType  # noqa: PLC0415 - a process that only plans has no Spark

    try:
        table = open_table(path)
        if since >= version or untried(table):
            return None
        table.load_as_version(version)
        schema = columns(table)
        if (feed := change_feed(path, since, version)) is None:
            return None
        reader = reader_of(feed)
        if (found := few(reader)) is None:
            return None
        told = [StructField(KIND, StringType()), StructField(VERSION, LongType())]
        rows = pa.Table.from_batches(found, reader.schema)
        return to_spark(spark, rows, StructType([*schema.fields, *told]))
    except Exception as error:  # noqa: BLE001 - Spark reads it then, or says why it cannot
        LOG.debug("%s: Spark reads versions %d to %d: %s", path, since + 1, version, error)
        return None


LOG = logging.getLogger(__name__)
FEED = (KIND, VERSION, "_commit_timestamp")
ADDED, REMOVED = ("insert", "update_postimage"), ("delete", "update_preimage")
"""Values of KIND in Delta's change data feed (docs: "Use Delta Lake change data feed")."""
NEWEST = own("newest")


def written_rows(
    spark: SparkSession, table: Table, spec: Pipeline, since: int, version: int
) -> DataFrame:
    """As Table.written. Cached, or in memory anyway (`added_rows`).

    All rows of `version` if the output mode replaces the table, or if VACUUM or a clean-up of the
    log removed the changes.
    """
    if mode_facts(spec.output_mode).replaces_table:
        return _whole(spark, table, spec, version)
    if spec.keyed is None:
        added = added_rows(spark, table.path, since, version)
        if added is not None:
            return added
    try:
        rows = _changed(spark, table, spec, since, version)
        rows.count()  # the feed's files are opened here, and not within an expectation
    except (PySparkException, Py4JJavaError) as error:
        LOG.warning(
            "%s: the changes of table versions %d to %d cannot be read (%s): all rows of version "
            "%d are checked",
            spec.name,
            since + 1,
            version,
            str(error).splitlines()[0],
            version,
        )
        return _whole(spark, table, spec, version)
    return rows


def _whole(spark: SparkSession, table: Table, spec: Pipeline, version: int) -> DataFrame:
    return _shown(table.read(spark, version), spec).cache()


def _shown(rows: DataFrame, spec: Pipeline) -> DataFrame:
    """Of a table that follows a key: as consumers see it, without deletes."""
    return rows.where(~F.col(DELETED)).drop(*OF_A_KEY) if spec.keyed else rows


def _changed(
    spark: SparkSession, table: Table, spec: Pipeline, since: int, version: int
) -> DataFrame:
    if (step := spec.keyed) is not None:
        few = changed_rows(spark, table.path, since, version)
        feed = few if few is not None else _feed(spark, table, since, version)
        return _shown(_last(feed, step.row_key), spec).cache()
    feed = _feed(spark, table, since, version)
    added, removed = (
        feed.where(F.col(KIND).isin(*kinds)).drop(*FEED) for kinds in (ADDED, REMOVED)
    )
    # Where only batches appended, as is usual, the difference would cost a shuffle for nothing.
    replaces = mode_facts(spec.output_mode).writes_last_of_key
    appended = not replaces and not history.somebody_else_wrote(table, since, version)
    return (added if appended else added.exceptAll(removed)).cache()


def _feed(spark: SparkSession, table: Table, since: int, version: int) -> DataFrame:
    return (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", since + 1)
        .option("endingVersion", version)
        .load(spark_url(table.path))
    )


def _last(feed: DataFrame, key: Iterable[str]) -> DataFrame:
    """What the last version that changed a key has of it, whoever has read the feed. Without a
    comparison of rows, which Spark cannot make where a column is a map.
    """
    of_key = Window.partitionBy(*(F.col(f"`{name}`") for name in key))
    last = feed.withColumn(NEWEST, F.max(VERSION).over(of_key))
    last = last.where(F.col(VERSION) == F.col(NEWEST)).where(F.col(KIND).isin(*ADDED))
    return last.drop(*FEED, NEWEST)
