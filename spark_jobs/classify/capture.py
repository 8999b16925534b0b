"""Capture: observes the rejected records while their batch runs, so that the audit need not read Kafka again for them.

The raw filter lets their bytes through, with those of others that might be rejected. Where their outcome is known, the query
observes those that are, and they come to the driver with the batch's progress: audit/rejected.py reads them there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.classify.classifier import counts, is_one_of, span
from spark_jobs.classify.outcome import COLUMN, QUARANTINED, Outcome
from spark_jobs.contract.spec import Pipeline
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.steps.chain import is_late

CLASSIFIED, ENTERED = "fate", "entered"
"""The names under which classified records and the stateful input are observed."""


# What the aggregates take is a column of its own, and not within them: Spark interprets an aggregate for every row.
def observe_classified(classified: DataFrame, spec: Pipeline) -> DataFrame:
    """Classified records; under "fate" one count an outcome, and kept array<struct>: the malformed and premature ones, raw."""
    rejected = F.when(is_one_of(QUARANTINED), _record(spec, F.col(COLUMN), F.col("malformed")))
    return classified.withColumn("kept", rejected).observe(CLASSIFIED, *counts(), F.collect_list("kept").alias("kept"))


def observe_entered(entered: DataFrame, spec: Pipeline, policy: CapturePolicy) -> DataFrame:
    """The stateful input; under "entered" its span, late bigint by `policy`, and kept array<struct>: the late records, raw."""
    late = _record(spec, F.lit(Outcome.LATE.value), F.lit(None).cast("string"))
    rows = entered.withColumn("suspect", is_late(spec, policy.late_before_ms))
    rows = rows.withColumn("kept", F.when(F.col("suspect"), late))
    counted = (F.count_if(F.col("suspect")).alias("late"), F.collect_list("kept").alias("kept"))
    return rows.observe(ENTERED, *span(spec), *counted).drop("suspect", "kept")


def _record(spec: Pipeline, outcome: Column, malformed: Column) -> Column:
    """A record as audit/rejected.py reads it; null where its bytes were not let through."""
    parts = F.struct(
        "kafka.partition", "kafka.offset", F.unix_micros("kafka.timestamp").alias("kafka_us"),
        F.unix_micros(F.col(spec.topic.event_time)).alias("event_us"), "kafka.raw.key", "kafka.raw.value",
        outcome.alias("fate"), malformed.alias("malformed"),
    )
    return F.when(F.col("kafka.raw").isNotNull(), parts)
