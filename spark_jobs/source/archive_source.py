"""Reads records from a topic's archive, as kafka_source reads them from Kafka."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.contract.path_forms import spark_url
from spark_jobs.contract.paths import archive_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from upath import UPath


def read_archive(
    spark: SparkSession,
    root: UPath,
    topic: str,
    topic_id: str,
    parts: Mapping[int, Iterable[tuple[int, int]]],
) -> DataFrame:
    """The records at these offsets: partition -> ranges, each without its end. At least one range.

    Column: kafka struct, as kafka_source has it.
    """
    rows = spark.read.format("delta").load(spark_url(archive_table(root, topic)))
    # An older Sluice's archive has them as times, of any year.
    millis = "kafka_millis" if "kafka_millis" in rows.columns else "CAST(NULL AS bigint)"
    wanted = reduce(
        or_,
        (
            (F.col("partition") == partition)
            & (F.col("offset") >= first)
            & (F.col("offset") < stop)
            for partition, ranges in parts.items()
            for first, stop in ranges
        ),
    )
    kafka = F.struct(
        "partition",
        "offset",
        F.col("kafka_timestamp").alias("timestamp"),
        F.expr(millis).alias("millis"),
        F.struct("key", "value").alias("raw"),
    )
    return rows.where((F.col("topic_id") == topic_id) & wanted).select(kafka.alias("kafka"))
