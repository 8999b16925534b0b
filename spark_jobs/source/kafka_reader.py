"""Kafka reader: records by Spark's Kafka source (KafkaSourceProvider), or by spark_jobs/java's
sluice.kafka.Records where its jar is there. Column: as port.py has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.errors import JarsMissing
from spark_jobs.settings.installation import Settings
from spark_jobs.source.kafka_time import FIRST_MS, LAST_MS
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from spark_jobs.values.own_columns import HEADERS
from spark_jobs.values.spans import EPOCH

READER = "sluice.kafka.Records"
"""Gives Kafka's timestamps as the numbers that they are. Its stream may end before the topic."""
SPARKS = "kafka"
"""Fails on those that do not fit Spark's microseconds: of the years before -290308 or after 294247.
"""


def reader(spark: SparkSession) -> str:
    """The format of the records: READER; or SPARKS without its jar, or with an older Sluice's,
    which gives no headers.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no Python form
    ours = jvm.sluice.kafka.Records
    # What is no class is taken for the name of a package.
    newest = isinstance(ours, JavaClass) and "headers" in ours().inferSchema(None).fieldNames()
    return READER if newest else SPARKS


def ends_early(spark: SparkSession) -> bool:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as above
    return reader(spark) == READER and hasattr(jvm.sluice.kafka.Records, "UNTIL")


def _kafka_columns(read: DataFrame, *, headers: bool) -> DataFrame:
    millis = F.col("millis") if "millis" in read.columns else F.unix_millis("timestamp")
    is_time = (millis >= FIRST_MS) & (millis < LAST_MS)
    kafka = F.struct(
        "partition",
        "offset",
        F.timestamp_millis(F.when(is_time, millis)).alias("timestamp"),
        F.when(~is_time, millis).alias("millis"),
        F.struct("key", "value", _headers(read=headers).alias("headers")).alias("raw"),
    )
    return read.select(kafka.alias("kafka"))


def _headers(*, read: bool) -> Column:
    """Empty of a record without any: for Spark's reader that is null."""
    if not read:
        return F.lit(None).cast(HEADERS)
    return F.coalesce(F.col("headers"), F.array().cast(HEADERS))


def _options(settings: Settings, spec: Pipeline, *, uncommitted: bool = False) -> dict[str, str]:
    return {
        # Set here and not in Spark's configuration, which is visible on a command line and in event
        # logs.
        **{f"kafka.{name}": value for name, value in settings.kafka_config.java().items()},
        "kafka.bootstrap.servers": settings.kafka,
        # Whether a consumer is spared the records of aborted transactions.
        "kafka.isolation.level": "read_uncommitted" if uncommitted else "read_committed",
        # identity.py finds and counts records deleted by retention before Spark starts. The spec
        # decides whether to continue.
        "failOnDataLoss": "true" if spec.on_lost_records == "refuse" else "false",
        # Spark requests a partition's offset range after each poll. The default poll returns 500
        # records.
        "kafka.max.poll.records": "5000",
        # The records of a batch exist when it starts. By default a fetch waits 500 ms for more;
        # this delays the next request on the same connection, and so the end of every partition.
        "kafka.fetch.max.wait.ms": "10",
        "includeHeaders": str(spec.reads_headers).lower(),
        **spec.reader_options,
    }


def read_stream(
    spark: SparkSession, spec: Pipeline, settings: Settings, until: Positions | None = None
) -> DataFrame:
    """The topic as a stream, from where it begins or from the checkpoint's last offset, up to these
    offsets or the topic's end.

    Column: as above. Raises JarsMissing.
    """
    [topic] = spec.inputs
    query = spark.readStream.format(reader(spark)).options(**_options(settings, spec))
    if until is not None:
        if not ends_early(spark):
            raise JarsMissing.no_end_between(topic=topic.name)
        query = query.option("until", json.dumps({topic.name: until.named}))
    query = query.option("subscribe", topic.name).option("startingOffsets", "earliest")
    if topic.starting:
        begins = (topic.starting - EPOCH) // timedelta(milliseconds=1)
        query = query.option("startingTimestamp", begins)
        query = query.option("startingOffsetsByTimestampStrategy", "latest")
    if spec.max_offsets_per_batch:
        query = query.option("maxOffsetsPerTrigger", spec.max_offsets_per_batch)
    return _kafka_columns(query.load(), headers=spec.reads_headers)


def read_range(
    spark: SparkSession,
    spec: Pipeline,
    settings: Settings,
    ranges: Mapping[int, tuple[int, int]],
    *,
    uncommitted: bool = False,
) -> DataFrame:
    """The records of one range of offsets a partition, without its end, as a batch query.

    Column: as above.
    """
    topic = spec.inputs.name
    # "assign", not "subscribe": partitions that were added to the topic later have no range.
    query = spark.read.format(reader(spark)).options(
        **_options(settings, spec, uncommitted=uncommitted)
    )
    query = query.option("assign", json.dumps({topic: sorted(ranges)}))
    for name, of in (("startingOffsets", 0), ("endingOffsets", 1)):
        offsets = {partition: span[of] for partition, span in ranges.items()}
        query = query.option(name, json.dumps({topic: offsets}))
    # In spite of on_lost_records: who reads again asks only for offsets that Kafka has. One that is
    # gone now must fail the read, or the count would be too low without notice.
    query = query.option("failOnDataLoss", "true")
    return _kafka_columns(query.load(), headers=spec.reads_headers)
