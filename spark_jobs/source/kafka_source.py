"""Source: records as Kafka has them.

Both readers give one column: kafka struct<partition int, offset bigint, timestamp timestamp, raw struct<key, value binary>>.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.contract.micro_batch import Batch
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline


def _kafka() -> Column:
    return F.struct("partition", "offset", "timestamp", F.struct("key", "value").alias("raw")).alias("kafka")


def _options(settings: Settings, spec: Pipeline) -> dict[str, str]:
    return {
        # Said here and not in Spark's configuration, which stands on a command line and in event logs.
        **{f"kafka.{name}": value for name, value in settings.kafka_config.java().items()},
        "kafka.bootstrap.servers": settings.kafka,
        # Records of aborted transactions are not records; the markers stay behind as gaps in the account.
        "kafka.isolation.level": "read_committed",
        # What retention removed is found and counted before Spark starts (identity.py); going on is the spec's decision.
        "failOnDataLoss": "true" if spec.on_lost_records == "refuse" else "false",
        # Spark asks the broker for a partition's bounds after each poll, and a poll gives 500 records by default.
        "kafka.max.poll.records": "5000",
        # What a batch reads is there already. A fetch that waits for more, 500 ms by default, holds up the next question on its
        # connection, and with it the end of every partition.
        "kafka.fetch.max.wait.ms": "10",
        **spec.reader_options,
    }


def follow(spark: SparkSession, spec: Pipeline, settings: Settings) -> DataFrame:
    """The topic as a stream from its beginning, or from where the checkpoint stopped."""
    reader = spark.readStream.format("kafka").options(**_options(settings, spec))
    reader = reader.option("subscribe", spec.topic.name).option("startingOffsets", "earliest")
    if spec.max_offsets_per_batch:
        reader = reader.option("maxOffsetsPerTrigger", spec.max_offsets_per_batch)
    return reader.load().select(_kafka())


def exactly(spark: SparkSession, spec: Pipeline, settings: Settings, batch: Batch) -> DataFrame:
    """The records that one committed batch read, read again by its exact offsets."""
    start = {partition: batch.start.get(partition, 0) for partition in batch.end}
    # Assigned, not subscribed: partitions that were added to the topic since have no offsets in this batch.
    reader = spark.read.format("kafka").options(**_options(settings, spec))
    reader = reader.option("assign", json.dumps({spec.topic.name: sorted(batch.end)}))
    reader = reader.option("startingOffsets", json.dumps({spec.topic.name: start}))
    reader = reader.option("endingOffsets", json.dumps({spec.topic.name: batch.end}))
    return reader.load().select(_kafka())
