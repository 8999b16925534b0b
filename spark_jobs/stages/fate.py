"""The fate of each record up to the first stateful step. The drain and the audit judge by these same expressions.

decoded and guarded, a record is malformed, premature or good; of the good ones, those that the Transforms before the first
stateful step let through entered it, and the audit tells later which of them were late.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Transform
from spark_jobs.stages.decode import decode
from spark_jobs.stages.guard import is_premature
from spark_jobs.stages.raw_filter import CapturePolicy
from spark_jobs.stateful.chain import is_late, to_state

FATES = ("malformed", "premature", "good")
BAD = ("malformed", "premature")
"""The fates whose records are kept in ops.quarantine."""


def judged(records: DataFrame, spec: Pipeline, keeping: CapturePolicy | None = None) -> DataFrame:
    """Records as the source gives them, decoded, with fate string: one of FATES."""
    fate = F.when(F.col("malformed").isNotNull(), "malformed").when(is_premature(spec.topic), "premature").otherwise("good")
    return decode(records, spec.topic, keeping).withColumn("fate", fate)


def entered(judged: DataFrame, spec: Pipeline) -> DataFrame:
    """The good records that reach the first stateful step, with the column kafka still."""
    return to_state(judged.where(F.col("fate") == "good").select(*spec.topic.columns, "kafka"), spec)


def counts() -> list[Column]:
    """Aggregates over judged records: read, and one count a fate."""
    return [F.count(F.lit(1)).alias("read"), *[F.count_if(F.col("fate") == fate).alias(fate) for fate in FATES]]


def span(spec: Pipeline) -> list[Column]:
    """Aggregates over entered records: rows, and the span of the event times, which moves the watermark."""
    time = F.col(spec.topic.event_time)
    return [
        F.count(F.lit(1)).alias("rows"),
        F.unix_micros(F.min(time)).alias("first_event_us"), F.unix_micros(F.max(time)).alias("last_event_us"),
    ]


def resolved(judged: DataFrame, again: Callable[[], DataFrame], spec: Pipeline, late_before_ms: int) -> DataFrame:
    """Judged records of a batch that is over: event time, kafka, malformed, and fate string, one of RESOLVED.

    Records that a Transform left out are not among them. `again` makes the same as `judged`, for where one query must read them
    twice: a Transform other than a condition takes good rows alone.
    """
    late, columns = is_late(spec, late_before_ms), (spec.topic.event_time, "kafka", "malformed", "fate")
    before = [step for step in spec.steps[: spec.first_stateful] if isinstance(step, Transform)]
    if all(step.where for step in before):
        reached = F.lit(True)
        for step in before:
            reached = reached & F.coalesce(F.expr(step.where or ""), F.lit(False))
        good = F.col("fate") == "good"
        fate = F.when(~good, F.col("fate")).when(late, "late").otherwise("entered")
        return judged.where(~good | reached).withColumn("fate", fate).select(*columns)
    reached_state = entered(again(), spec).withColumn("malformed", F.lit(None).cast("string"))
    passed = reached_state.withColumn("fate", F.when(late, "late").otherwise("entered")).select(*columns)
    return judged.where(F.col("fate") != "good").select(*columns).unionAll(passed)


RESOLVED = ("malformed", "premature", "late", "entered")
KEPT = ("malformed", "premature", "late")
"""Those whose records are kept in ops tables."""


def resolved_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over resolved records: one count a fate, and the span of the event times that moved the watermark."""
    moved = F.when(F.col("fate").isin("late", "entered"), F.col(spec.topic.event_time))
    return [
        *[F.count_if(F.col("fate") == fate).alias(fate) for fate in RESOLVED],
        F.unix_micros(F.min(moved)).alias("first_event_us"), F.unix_micros(F.max(moved)).alias("last_event_us"),
    ]
