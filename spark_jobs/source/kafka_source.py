"""Reads records from Kafka with Spark's Kafka source (KafkaSourceProvider).

Both readers return one column: kafka struct<partition int, offset bigint, timestamp timestamp, raw
struct<key, value binary>>.
"""

from __future__ import annotations

import json
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.contract.micro_batch import Batch
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline


def _kafka_column() -> Column:
    return F.struct(
        "partition", "offset", "timestamp", F.struct("key", "value").alias("raw")
    ).alias("kafka")


Isolation = Literal["read_committed", "read_uncommitted"]
"""Kafka's isolation.level: whether a consumer is spared the records of aborted transactions."""


def _options(
    settings: Settings, spec: Pipeline, isolation: Isolation = "read_committed"
) -> dict[str, str]:
    return {
        # Set here and not in Spark's configuration, which is visible on a command line and in event
        # logs.
        **{f"kafka.{name}": value for name, value in settings.kafka_config.java().items()},
        "kafka.bootstrap.servers": settings.kafka,
        "kafka.isolation.level": isolation,
        # identity.py finds and counts records deleted by retention before Spark starts. The spec
        # decides whether to continue.
        "failOnDataLoss": "true" if spec.on_lost_records == "refuse" else "false",
        # Spark requests a partition's offset range after each poll. The default poll returns 500
        # records.
        "kafka.max.poll.records": "5000",
        # The records of a batch exist when it starts. By default a fetch waits 500 ms for more;
        # this delays the next request on the same connection, and so the end of every partition.
        "kafka.fetch.max.wait.ms": "10",
        **spec.reader_options,
    }


def read_stream(spark: SparkSession, spec: Pipeline, settings: Settings) -> DataFrame:
    """The topic as a stream, from its first offset or from the checkpoint's last one.

    Column: as above.
    """
    reader = spark.readStream.format("kafka").options(**_options(settings, spec))
    reader = reader.option("subscribe", spec.topic.name).option("startingOffsets", "earliest")
    if spec.max_offsets_per_batch:
        reader = reader.option("maxOffsetsPerTrigger", spec.max_offsets_per_batch)
    return reader.load().select(_kafka_column())


def read_batch(
    spark: SparkSession,
    spec: Pipeline,
    settings: Settings,
    batch: Batch,
    isolation: Isolation = "read_committed",
) -> DataFrame:
    """The records of one committed batch, read again by its exact offsets, as a batch query.

    Column: as above.
    """
    start = {partition: batch.start.get(partition, 0) for partition in batch.end}
    # "assign", not "subscribe": partitions that were added to the topic later have no offsets in
    # this batch.
    reader = spark.read.format("kafka").options(**_options(settings, spec, isolation))
    reader = reader.option("assign", json.dumps({spec.topic.name: sorted(batch.end)}))
    reader = reader.option("startingOffsets", json.dumps({spec.topic.name: start}))
    reader = reader.option("endingOffsets", json.dumps({spec.topic.name: batch.end}))
    # In spite of on_lost_records: audit/second_read.py asks only for offsets that Kafka has. One
    # that is gone now must fail the read, or the count would be too low without notice.
    reader = reader.option("failOnDataLoss", "true")
    return reader.load().select(_kafka_column())
