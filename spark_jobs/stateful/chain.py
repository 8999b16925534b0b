"""The steps one after another, and what is late for them.

Between the steps, observed metrics count what passes: they are what the audit balances.
"""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate, GroupState, Step, Transform
from spark_jobs.contract.windows import Session
from spark_jobs.stateful import aggregate, deduplicate, group_state


def reaches_state(spec: Pipeline) -> Column:
    """Which good records the steps before the first stateful one let through. Never null."""
    reaches = F.lit(True)
    for step in spec.steps[: spec.first_stateful]:
        if isinstance(step, Transform):
            reaches = reaches & F.coalesce(F.expr(step.where), F.lit(False))
    return reaches


def from_state_on(rows: DataFrame, spec: Pipeline) -> DataFrame:
    """The first stateful step and all after it, on a stream."""
    if spec.watermark_delay is not None:
        rows = rows.withWatermark(spec.topic.event_time, interval(spec.watermark_delay))
    for index, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        rows = apply(rows, step, spec).observe(f"after_{index}", F.count(F.lit(1)).alias("rows"))
    return rows


def apply(rows: DataFrame, step: Step, spec: Pipeline) -> DataFrame:
    """One step on rows."""
    match step:
        case Deduplicate():
            return deduplicate.apply(rows, step)
        case Aggregate():
            return aggregate.apply(rows, step, spec.topic.event_time)
        case GroupState():
            return group_state.apply(rows, step, spec.name)
        case Transform():
            return rows.where(step.where)
        case _:
            assert_never(step)


def is_late(spec: Pipeline, late_before_ms: int) -> Column:
    """Which of the rows that reach the first stateful step Spark drops as late, given the watermark they are held against.

    Source: StatefulOperator's watermark predicates for late events (statefulOperators.scala, WatermarkSupport).
    """
    step = spec.steps[spec.first_stateful] if spec.first_stateful < len(spec.steps) else None
    if spec.watermark_delay is None or step is None:
        return F.lit(False)
    if spec.output_mode == "complete" and not (isinstance(step, Aggregate) and isinstance(step.window, Session)):
        return F.lit(False)
    late_before = F.timestamp_millis(F.lit(late_before_ms))
    if isinstance(step, Aggregate):
        return aggregate.is_late(step, spec.topic.event_time, late_before)
    return deduplicate.is_late(spec.topic.event_time, late_before)
