"""Kept: the raw records that the audit has to keep, collected while their batch runs: Kafka is not read again for them.

The sieve lets their bytes through, with those of others that might have to be kept. Where their fate is settled, the query
observes those that have to, and they come to the driver with the batch's progress.
"""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.checkpoint import Batch
from spark_jobs.contract.spec import Pipeline
from spark_jobs.stages import fate
from spark_jobs.stages.progress import Progress
from spark_jobs.stages.raw_filter import CapturePolicy
from spark_jobs.stateful.chain import is_late

Row = dict[str, Any]
"""partition int, offset int, kafka_timestamp and event_time datetime, key and value bytes, fate and malformed str."""


# What the aggregates take is a column of its own, and not within them: Spark interprets an aggregate for every row.
def observe_bad(judged: DataFrame, spec: Pipeline) -> DataFrame:
    """Judged records; under "fate" one count a fate, and kept array<struct>: the malformed and premature records, raw."""
    bad = F.when(F.col("fate").isin(*fate.BAD), _record(spec, F.col("fate"), F.col("malformed")))
    return judged.withColumn("kept", bad).observe("fate", *fate.counts(), F.collect_list("kept").alias("kept"))


def observe_late(entered: DataFrame, spec: Pipeline, keeping: CapturePolicy) -> DataFrame:
    """Entered records; under "entered" their span, late bigint by `keeping`, and kept array<struct>: the late records, raw."""
    rows = entered.withColumn("suspect", is_late(spec, keeping.late_before_ms))
    rows = rows.withColumn("kept", F.when(F.col("suspect"), _record(spec, F.lit("late"), F.lit(None).cast("string"))))
    late = (F.count_if(F.col("suspect")).alias("late"), F.collect_list("kept").alias("kept"))
    return rows.observe("entered", *fate.span(spec), *late).drop("suspect", "kept")


def _record(spec: Pipeline, what: Column, malformed: Column) -> Column:
    """A record as `collected` reads it; null where its bytes were not let through."""
    parts = F.struct(
        "kafka.partition", "kafka.offset", F.unix_micros("kafka.timestamp").alias("kafka_us"),
        F.unix_micros(F.col(spec.topic.event_time)).alias("event_us"), "kafka.raw.key", "kafka.raw.value",
        what.alias("fate"), malformed.alias("malformed"),
    )
    return F.when(F.col("kafka.raw").isNotNull(), parts)


def collected(batch: Batch, progress: Progress, keeping: CapturePolicy) -> list[Row] | None:
    """The batch's records that are to be kept; None where they are not all there: too many, or late by another watermark."""
    same = batch.late_before_ms == keeping.late_before_ms
    if progress.dropped and not same:
        return None
    found = progress.kept("fate") + (progress.kept("entered") if same else [])
    wanted = progress.counted("fate", "malformed") + progress.counted("fate", "premature")
    wanted += progress.counted("entered", "late") if same else 0
    return [_row(told) for told in found] if len(found) == wanted else None


def _row(told: dict[str, Any]) -> Row:
    """One of them as progress has it: in JSON, which has binary in base64."""
    return {
        "partition": told["partition"], "offset": told["offset"], "kafka_timestamp": moment(told["kafka_us"]),
        "event_time": moment(told.get("event_us")), "key": _bytes(told.get("key")), "value": _bytes(told.get("value")),
        "fate": told["fate"], "malformed": told.get("malformed"),
    }


def _bytes(base64: str | None) -> bytes | None:
    return None if base64 is None else b64decode(base64)


def moment(us: int | None) -> datetime | None:
    """From microseconds since the epoch."""
    return None if us is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
