"""Rows: what the output checks judge: the rows that the table's unjudged versions wrote, as they
are now.

A person who mends failing rows by DELETE, UPDATE or MERGE is judged by what is left. In update mode
a key has its last row only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Window, functions as F

from spark_jobs.checks.added_rows import added_rows
from spark_jobs.checks.changed_rows import KIND, VERSION, changed_rows
from spark_jobs.root.path_forms import spark_url
from spark_jobs.run import Run
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.table import history
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, own

LOG = logging.getLogger(__name__)
FEED = (KIND, VERSION, "_commit_timestamp")
ADDED, REMOVED = ("insert", "update_postimage"), ("delete", "update_preimage")
"""Values of KIND in Delta's change data feed (docs: "Use Delta Lake change data feed")."""
NEWEST = own("newest")


def unjudged_rows(run: Run, since: int, version: int) -> DataFrame:
    """The rows that versions after `since`, up to `version`, wrote and that are in `version`: the
    table's columns. Cached, or in memory anyway (added_rows.py).

    All rows of `version` if the output mode replaces the table, or if VACUUM or a clean-up of the
    log removed the changes.
    """
    if mode_facts(run.spec.output_mode).replaces_table:
        return _whole(run, version)
    if run.spec.keyed is None:
        added = added_rows(run.spark, run.target.table, since, version)
        if added is not None:
            return added
    try:
        rows = _changed(run, since, version)
        rows.count()  # the feed's files are opened here, and not within an expectation
    except (PySparkException, Py4JJavaError) as error:
        LOG.warning(
            "%s: the changes of table versions %d to %d cannot be read (%s): all rows of version "
            "%d are checked",
            run.spec.name,
            since + 1,
            version,
            str(error).splitlines()[0],
            version,
        )
        return _whole(run, version)
    return rows


def _whole(run: Run, version: int) -> DataFrame:
    table = run.spark.read.format("delta").option("versionAsOf", version)
    return _shown(table.load(spark_url(run.target.table)), run).cache()


def _shown(rows: DataFrame, run: Run) -> DataFrame:
    """Of a table that follows a key: as consumers see it, without deletes."""
    return rows.where(~F.col(DELETED)).drop(*OF_A_KEY) if run.spec.keyed else rows


def _changed(run: Run, since: int, version: int) -> DataFrame:
    if (step := run.spec.keyed) is not None:
        few = changed_rows(run.spark, run.target.table, since, version)
        feed = few if few is not None else _feed(run, since, version)
        return _shown(_last(feed, step.row_key), run).cache()
    feed = _feed(run, since, version)
    added, removed = (
        feed.where(F.col(KIND).isin(*kinds)).drop(*FEED) for kinds in (ADDED, REMOVED)
    )
    # Where only batches appended, as is usual, the difference would cost a shuffle for nothing.
    replaces = mode_facts(run.spec.output_mode).writes_last_of_key
    appended = not replaces and not history.somebody_else_wrote(run.target.table, since, version)
    return (added if appended else added.exceptAll(removed)).cache()


def _feed(run: Run, since: int, version: int) -> DataFrame:
    return (
        run.spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", since + 1)
        .option("endingVersion", version)
        .load(spark_url(run.target.table))
    )


def _last(feed: DataFrame, key: Iterable[str]) -> DataFrame:
    """What the last version that changed a key has of it, whoever has read the feed. Without a
    comparison of rows, which Spark cannot make where a column is a map.
    """
    of_key = Window.partitionBy(*(F.col(f"`{name}`") for name in key))
    last = feed.withColumn(NEWEST, F.max(VERSION).over(of_key))
    last = last.where(F.col(VERSION) == F.col(NEWEST)).where(F.col(KIND).isin(*ADDED))
    return last.drop(*FEED, NEWEST)
