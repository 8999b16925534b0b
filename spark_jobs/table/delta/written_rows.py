"""Written rows: what some versions of a table wrote, as it is now.

A person who mends failing rows by DELETE, UPDATE or MERGE is judged by what is left. In update mode
a key has its last row only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window, functions as F

from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table import history
from spark_jobs.table.delta.added_rows import KIND, VERSION, added_rows, changed_rows
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, own

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.table.port import Table

LOG = logging.getLogger(__name__)
FEED = (KIND, VERSION, "_commit_timestamp")
ADDED, REMOVED = ("insert", "update_postimage"), ("delete", "update_preimage")
"""Values of KIND in Delta's change data feed (docs: "Use Delta Lake change data feed")."""
NEWEST = own("newest")


def written_rows(
    spark: SparkSession, table: Table, spec: Pipeline, since: int, version: int
) -> DataFrame:
    """As Table.written. Cached, or in memory anyway (added_rows.py).

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
