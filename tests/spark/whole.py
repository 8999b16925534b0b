"""All good records of a ledger at once, as the stateful input of a batch query, without Kafka."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F

from local import ledger
from spark_jobs.spec import Pipeline
from spark_jobs.steps import chain
from spark_jobs.values.own_columns import HEADERS
from tests.harness.scene import records

FOR_EVER = datetime(2100, 1, 1, tzinfo=UTC)
"""A watermark that closes everything."""


def sent(folder: Path, events: int) -> pa.Table:
    """The ledger of so many events with the usual mess, in four partitions of no broker."""
    delivered = records(events)
    places = [(index % 4, index // 4) for index in range(len(delivered))]
    ledger.write(folder, 1, "flights", delivered, places)
    return ledger.read(folder)


def stateful_input(spark: SparkSession, spec: Pipeline, folder: Path) -> DataFrame:
    """What enters the first stateful step, with the column kafka."""
    good = spark.read.parquet(str(folder)).where("kind IN ('good', 'duplicate')")
    no_bytes = F.lit(None).cast("binary")
    kafka = F.struct(
        "partition",
        "offset",
        F.col("kafka_timestamp").alias("timestamp"),
        F.lit(None).cast("bigint").alias("millis"),
        F.struct(
            no_bytes.alias("key"),
            no_bytes.alias("value"),
            F.lit(None).cast(HEADERS).alias("headers"),
        ).alias("raw"),
    )
    return chain.stateful_input(good.select(*spec.topic.columns, kafka.alias("kafka")), spec, {})
