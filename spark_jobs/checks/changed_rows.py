"""Changed rows: what a small run changed in a table that follows a key, read by the driver itself.

As added_rows.py, and for the same reason.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.sink.few_rows import columns, few, to_spark
from spark_jobs.storage.answer import reader_of
from spark_jobs.storage.delta import change_feed, open_table
from spark_jobs.storage.features import untried
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, own

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

    from spark_jobs.spec.steps.following import Following

LOG = logging.getLogger(__name__)
KIND, VERSION = "_change_type", "_commit_version"
ADDED, REMOVED = ("insert", "update_postimage"), ("delete", "update_preimage")
"""Values of _change_type in Delta's change data feed (docs: "Use Delta Lake change data feed")."""
NEWEST, AT = own("newest"), own("at")


def changed_rows(
    spark: SparkSession, path: UPath, step: Following, since: int, version: int
) -> DataFrame | None:
    """The rows of keys that versions after `since`, up to `version`, changed, as they are in
    `version`: without deletes, and without Sluice's own columns.

    None if Spark must tell: there is much, or something cannot be read.
    """
    from pyspark.sql.types import StructType  # noqa: PLC0415 - a process that only plans has no Spark

    try:
        table = open_table(path)
        if since >= version or untried(table):
            return None
        table.load_as_version(version)
        schema = columns(table)
        if (feed := change_feed(path, since, version)) is None:
            return None
        reader = reader_of(feed)
        plain = pa.schema([_without_view(field) for field in reader.schema])
        found = few(batch.cast(plain) for batch in reader)
        if found is None:
            return None
        rows = pa.Table.from_batches(found, plain)
        shown = StructType([field for field in schema if field.name not in OF_A_KEY])
        return to_spark(spark, _last(rows, step), shown)
    except Exception as error:  # noqa: BLE001 - Spark reads it then, or says why it cannot
        LOG.debug("%s: Spark reads versions %d to %d: %s", path, since + 1, version, error)
        return None


def _without_view(field: pa.Field) -> pa.Field:
    """delta-rs gives views of texts, which Arrow's functions do not take."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return field.with_type(plain.get(field.type, field.type))


def _last(feed: pa.Table, step: Following) -> pa.Table:
    """The last row of each key, or place in a chain, where it is one and no delete."""
    keys = list(step.row_key)
    newest = feed.group_by(keys).aggregate([(VERSION, "max")])
    newest = newest.rename_columns([*keys, NEWEST])
    places = feed.select([*keys, VERSION]).append_column(
        AT, pa.array(range(feed.num_rows), pa.int64())
    )
    placed = places.join(newest, keys)
    last = placed.filter(pc.equal(placed[VERSION], placed[NEWEST]))[AT]
    rows = feed.take(last)
    lives = pc.and_(pc.is_in(rows[KIND], pa.array(ADDED)), pc.invert(rows[DELETED]))
    return rows.filter(lives)
