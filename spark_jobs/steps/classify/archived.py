"""Archived: the records of a topic as the rows of its archive. None of them is left out.

An archive judges no record: what is malformed, premature or late depends on a pipeline's spec, and
changes with it. The bytes do not.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, functions as F

from spark_jobs.steps.classify.outcome import Outcome
from spark_jobs.values.own_columns import MALFORMED, OUTCOME


def all_good(decoded: DataFrame) -> DataFrame:
    """The decoded records, each with the outcome GOOD: the account counts it as one that entered,
    and so as a row.
    """
    good = F.lit(Outcome.GOOD.value)
    return decoded.withColumn(MALFORMED, F.lit(None).cast("string")).withColumn(OUTCOME, good)


def archive_rows(records: DataFrame, event_time: str, topic_id: str) -> DataFrame:
    """The table's rows, with registry/archive_spec.py's COLUMNS.

    `records` has kafka struct<partition, offset, timestamp, millis, raw>, and the event time, null
    where it does not decode.
    """
    return records.select(
        F.lit(topic_id).alias("topic_id"),
        F.col("kafka.partition"),
        F.col("kafka.offset"),
        F.col("kafka.timestamp").alias("kafka_timestamp"),
        F.col("kafka.millis").alias("kafka_millis"),
        F.col("kafka.raw.key"),
        F.col("kafka.raw.value"),
        F.col("kafka.raw.headers"),
        F.col(event_time).alias("event_time"),
        F.to_date(event_time).alias("event_date"),
    )
