"""Applies the steps in order, and decides which rows are late for the first stateful step.

Observed metrics count the rows after each step. The audit balances these counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, cast

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Pipeline
from spark_jobs.spec.duration import interval
from spark_jobs.steps import transform
from spark_jobs.steps.operator import At, LateBy, StepContext
from spark_jobs.steps.operators import operator, stateful_operator
from spark_jobs.steps.raw_bytes import refuse_raw_bytes
from spark_jobs.steps.unholdable import held

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Topic
    from spark_jobs.steps.operator import TakingOperator
    from spark_jobs.steps.timers import Timers


def stateful_input(rows: DataFrame, spec: Pipeline, sides: Mapping[str, DataFrame]) -> DataFrame:
    """Good records after the steps before the first stateful one. `sides` as At has them.

    Each row is still one record, with the column kafka.
    """
    for after in stages(rows, spec, sides):
        rows = after
    return rows


def stages(rows: DataFrame, spec: Pipeline, sides: Mapping[str, DataFrame]) -> Iterator[DataFrame]:
    """What is left of them after each of these steps."""
    event_time = spec.inputs.event_time
    for index, step in enumerate(spec.before_state):
        before = rows
        rows = operator(step).row_part(before, At(spec, index, event_time, sides))
        if step.sql_texts or step.logic:  # a person's
            added = 1  # a condition adds one node
            if step.condition is None:
                added = transform.require_row_by_row(rows, before, event_time, spec.name)
            refuse_raw_bytes(rows, added, spec.name)
        yield rows


def stateful_output(
    inputs: Sequence[DataFrame],
    spec: Pipeline,
    sides: Mapping[str, DataFrame],
    root: UPath,
    timers: Timers,
) -> DataFrame:
    """The stateful input of each topic with the pipeline's watermark, after the first stateful step
    and all later steps.

    Each topic has a watermark of its own. Spark goes by the smallest of them, and one that has
    given nothing since the query's start has none: then the query's stays (WatermarkTracker;
    pinned/sql_settings.py). no_data_batch.py moves it on.
    """
    event_time = spec.inputs.event_time
    each = [_entering(rows, spec) for rows in inputs]
    if spec.watermark_delay is not None:
        delay = interval(spec.watermark_delay)
        each = [rows.withWatermark(event_time, delay) for rows in each]
    rows = reduce(DataFrame.unionAll, each)
    for index, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        applied = operator(step)
        context = StepContext(spec, index, event_time, sides, root, timers)
        if step.takes:
            taken = {of.name: own(frame, of) for of, frame in zip(spec.inputs, each, strict=True)}
            rows = cast("TakingOperator", applied).apply(taken, context)
        else:
            rows = applied.apply(held(rows, spec, index, event_time), context)
        counts = [F.count(F.lit(1)).alias("rows"), *applied.counts()]
        event_time = step.time_after(event_time) or ""  # else a column of that name is no time
        if step.stateful and event_time in rows.columns:
            # Spark drops late rows by this column, and its optimizer takes away what nothing behind
            # needs (SPARK-58979): what observes it needs it. late_rows.py holds the plan to that.
            counts.append(F.unix_micros(F.max(event_time)).alias("newest_us"))
        rows = rows.observe(observation_name(index), *counts)
    return rows


def own(rows: DataFrame, of: Topic) -> DataFrame:
    """Rows of one input with the columns that it has itself."""
    return rows.select(*of.columns)


def row_part(
    stateful_input: DataFrame, spec: Pipeline, sides: Mapping[str, DataFrame], late_before_ms: int
) -> DataFrame:
    """What the query computes of each record by itself, as a batch query: up to the arguments of
    the first Aggregate, or to the first Python code that keeps state.

    It fails if and only if a record fails by itself. A Deduplicate passes all of its rows on, the
    duplicates too, but for those that it drops as late.
    """
    rows = _entering(stateful_input, spec)
    if spec.entry and spec.entry.balance.only_fewer:
        rows = rows.where(~is_late(spec, late_before_ms))
    event_time = spec.inputs.event_time
    for index, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        at = At(spec, index, event_time, sides)
        rows = operator(step).row_part(held(rows, spec, index, event_time), at)
        if step.stateful and not step.balance.only_fewer:
            break
    return rows


def _entering(rows: DataFrame, spec: Pipeline) -> DataFrame:
    """What the first step that keeps state gets; one that follows a key gets the records' places
    too.
    """
    return rows if spec.keyed else rows.drop("kafka")


def observation_name(index: int) -> str:
    """The name of the observation after a step: rows bigint; after an Aggregate also counted bigint
    (records in its groups); where a stateful step passes the event time on, newest_us bigint.
    """
    return f"after_{index}"


def is_late(spec: Pipeline, late_before_ms: int) -> Column:
    """boolean over the stateful input: whether Spark drops the row as late.

    `late_before_ms` is the watermark for late rows.

    Source: StatefulOperator's watermark predicates for late events (statefulOperators.scala,
    WatermarkSupport).
    """
    if spec.entry is None or late_by(spec) is None:
        return F.lit(False)
    late_before = F.timestamp_millis(F.lit(late_before_ms))
    return stateful_operator(spec.entry).is_late(spec.inputs.event_time, late_before)


def late_by(spec: Pipeline) -> LateBy | None:
    """By what Spark drops late rows before the first stateful step; None if no row is late."""
    if spec.watermark_delay is None or spec.entry is None:
        return None
    return stateful_operator(spec.entry).late_by(spec.output_mode)
