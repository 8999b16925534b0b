"""Columns: a record's place as Spark has it, and the record of a source that is no Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from spark_jobs.source.place import PLACE, WHOLE
from spark_jobs.values.own_columns import HEADERS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def columns(records: DataFrame) -> list[Column]:
    """PLACE of rows with the column kafka; WHOLE where no value has many records."""
    partition, offset, element = PLACE
    there = element in records.select("kafka.*").columns
    number = F.coalesce(f"kafka.{element}", F.lit(WHOLE)) if there else F.lit(WHOLE)
    return [F.col(f"kafka.{partition}"), F.col(f"kafka.{offset}"), number.alias(element)]


def without_headers(partition: Column, key: Column) -> Column:
    """The column kafka, as port.py has it, of rows offset bigint, millis bigint (milliseconds since
    1970), value binary.
    """
    none = F.lit(None)
    raw = F.struct(key.alias("key"), "value", none.cast(HEADERS).alias("headers"))
    return F.struct(
        partition.alias("partition"),
        "offset",
        F.timestamp_millis("millis").alias("timestamp"),
        none.cast("bigint").alias("millis"),
        raw.alias("raw"),
    ).alias("kafka")
