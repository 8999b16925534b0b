"""The fate of each record up to the first stateful step. The drain and the audit judge by this one expression."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.spec import Pipeline
from spark_jobs.stages.decode import decode
from spark_jobs.stages.guard import is_premature
from spark_jobs.stateful.chain import reaches_state

FATES = ("malformed", "premature", "filtered", "late", "entered")
KEPT = ("malformed", "premature", "late")
"""The fates whose records are kept in ops tables."""


def judged(records: DataFrame, spec: Pipeline, late: Column | None = None) -> DataFrame:
    """Records as the source gives them, decoded, with fate string: one of FATES.

    `late` is known only once a batch is over; without it, late records are among those that entered.
    """
    fate = (
        F.when(F.col("malformed").isNotNull(), "malformed")
        .when(is_premature(spec.topic), "premature")
        .when(~reaches_state(spec), "filtered")
    )
    if late is not None:
        fate = fate.when(late, "late")
    return decode(records, spec.topic).withColumn("fate", fate.otherwise("entered"))


def counts(spec: Pipeline) -> list[Column]:
    """Aggregates over judged records: read, one count a fate, and the span of the event times that moved the watermark."""
    moved = F.when(F.col("fate").isin("late", "entered"), F.col(spec.topic.event_time))
    return [
        F.count(F.lit(1)).alias("read"),
        *[F.count_if(F.col("fate") == fate).alias(fate) for fate in FATES],
        F.unix_micros(F.min(moved)).alias("first_event_us"),
        F.unix_micros(F.max(moved)).alias("last_event_us"),
    ]
