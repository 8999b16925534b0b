"""The steps one after another, and what is late for the first that keeps state.

Between the steps, observed metrics count what passes: they are what the audit balances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.spec import Pipeline
from spark_jobs.steps import transform
from spark_jobs.steps.operator import Place
from spark_jobs.steps.operators import operator, stateful_operator

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.steps.timers import Timers


def stateful_input(rows: DataFrame, spec: Pipeline) -> DataFrame:
    """Good records through the steps before the first stateful one. They keep the column kafka: each row is a record still."""
    for step in spec.before_state:
        before, rows = rows, transform.apply(rows, step, spec.name)
        if step.where is None:
            transform.refuse_other_than_row_by_row(rows, before, spec.topic.event_time, spec.name)
    return rows


def stateful_output(rows: DataFrame, spec: Pipeline, root: UPath, timers: Timers) -> DataFrame:
    """Those rows through the first stateful step and all after it, as a stream with the pipeline's watermark."""
    rows, time = rows.drop("kafka"), spec.topic.event_time
    if spec.watermark_delay is not None:
        rows = rows.withWatermark(time, interval(spec.watermark_delay))
    for index, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        each = operator(step)
        rows = each.apply(rows, Place(spec, index, time, root, timers))
        rows = rows.observe(passed(index), F.count(F.lit(1)).alias("rows"), *each.counts())
        time = step.time_after(time) or ""
    return rows


def passed(index: int) -> str:
    """The name under which what leaves a step is observed: rows bigint, and of an Aggregate counted bigint (its records)."""
    return f"after_{index}"


def is_late(spec: Pipeline, late_before_ms: int) -> Column:
    """Which of the rows that reach the first stateful step Spark drops as late, given the watermark they are held against.

    Source: StatefulOperator's watermark predicates for late events (statefulOperators.scala, WatermarkSupport).
    """
    if spec.watermark_delay is None or spec.entry is None:
        return F.lit(False)
    late_before = F.timestamp_millis(F.lit(late_before_ms))
    return stateful_operator(spec.entry).is_late(spec.topic.event_time, late_before, spec.output_mode)
