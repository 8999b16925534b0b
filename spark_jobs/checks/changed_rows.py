"""Changed rows: what a small run changed in a table that follows a key, read by the driver itself.

As added_rows.py, and for the same reason.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from spark_jobs.table.delta.answer import reader_of
from spark_jobs.table.delta.door import change_feed, open_table
from spark_jobs.table.delta.features import untried
from spark_jobs.table.delta.few_rows import columns, few, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

LOG = logging.getLogger(__name__)
KIND: Final = "_change_type"
VERSION: Final = "_commit_version"


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
