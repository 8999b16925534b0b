"""The steps one after another, and what is late for them.

Between the steps, observed metrics count what passes: they are what the audit balances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate, GroupState, Transform
from spark_jobs.contract.windows import Session
from spark_jobs.stateful import aggregate, deduplicate, group_state, transform

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.stateful.timers import Timers


def to_state(rows: DataFrame, spec: Pipeline) -> DataFrame:
    """Good records through the steps before the first stateful one. They keep the column kafka: each row is a record still."""
    for step in spec.steps[: spec.first_stateful]:
        if isinstance(step, Transform):
            before, rows = rows, transform.apply(rows, step, spec.name)
            if step.where is None:
                transform.refuse_other_than_row_by_row(rows, before, spec.topic.event_time, spec.name)
    return rows


def from_state_on(rows: DataFrame, spec: Pipeline, root: UPath, timers: Timers) -> DataFrame:
    """The first stateful step and all after it, on a stream of those rows."""
    rows, time = rows.drop("kafka"), spec.topic.event_time
    if spec.watermark_delay is not None:
        rows = rows.withWatermark(time, interval(spec.watermark_delay))
    for index, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        match step:
            case Deduplicate():
                rows = deduplicate.apply(rows, step)
            case Aggregate():
                rows = aggregate.apply(rows, step, time)
            case GroupState():
                rows = group_state.apply(rows, step, spec.name, spec.output_mode, root, timers.of(index))
            case Transform():
                rows = transform.apply(rows, step, spec.name)
            case _:
                assert_never(step)
        rows, time = rows.observe(passed(index), *_counts(step)), step.time_after(time) or ""
    return rows


def passed(index: int) -> str:
    """The name under which what leaves a step is observed: rows bigint, and of an Aggregate counted bigint (its records)."""
    return f"after_{index}"


def _counts(step: object) -> list[Column]:
    rows = F.count(F.lit(1)).alias("rows")
    return [rows, F.sum(step.counts).alias("counted")] if isinstance(step, Aggregate) and step.counts else [rows]


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
    match step:
        case Aggregate():
            return aggregate.is_late(step, spec.topic.event_time, late_before)
        case GroupState():
            return group_state.is_late(step, spec.topic.event_time, late_before)
        case _:
            return deduplicate.is_late(spec.topic.event_time, late_before)
