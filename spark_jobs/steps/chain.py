"""Applies the steps in order, and decides which rows are late for the first stateful step.

Observed metrics count the rows after each step. The audit balances these counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, cast

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.lateness import late_if_far, unheld
from spark_jobs.spec.duration import interval
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.beside.matched import FOUND
from spark_jobs.steps.by_rules import fails_one
from spark_jobs.steps.operator import At, LateBy, StepContext, operator, stateful_operator
from spark_jobs.values.gap import Gap, Unheld
from spark_jobs.values.own_columns import MALFORMED
from spark_jobs.values.spans import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Topic
    from spark_jobs.steps.operator import RejectingOperator, TakingOperator
    from spark_jobs.steps.timers import Timers

ROW_BY_ROW: Final = "spark_jobs.steps.row_by_row:refuse_unfit"
"""Holds what a person's text or function gives against what it was given. Loaded by name: most
pipelines have no Transform before their state.
"""


def held(rows: DataFrame, spec: Pipeline, index: int, event_time: str) -> DataFrame:
    """The same rows, if the step `index` is a GroupState that can hold them; else the query fails.
    `event_time` is the column with it here.
    """
    step = spec.steps[index]
    judged = {limit.field for limit in unheld(spec)} | (
        {event_time} if late_if_far(spec) else set()
    )
    for column in rows.schema.fields:
        kind = column.dataType.simpleString()
        gaps, why = step.unheld(kind)
        if gaps and column.name not in judged:
            told = F.concat(F.lit(f"{column.name} is "), F.col(f"`{column.name}`").cast("string"))
            text = F.concat(F.lit(f"step {index + 1} ({step.kind}): "), told, F.lit(f": {why}"))
            fails = F.raise_error(text).cast("boolean")
            rows = rows.where(F.when(within(gaps, column.name, kind), fails).otherwise(F.lit(True)))
    return rows


def within(gaps: tuple[Gap, ...], column: str, kind: str) -> Column:
    """Whether a time, with or without a zone, or a date is in one of these; null if it is null.
    Compared as numbers: PySpark makes no literal of every time.
    """
    return reduce(Column.__or__, (_within(gap, F.col(f"`{column}`"), kind) for gap in gaps))


def _within(gap: Gap, time: Column, kind: str) -> Column:
    if kind == "date":
        return F.unix_date(time).between(*((at.date() - EPOCH.date()).days for at in gap))
    # A time without a zone is taken in the session's, which is UTC.
    return F.unix_micros(time.cast("timestamp")).between(
        *((at - EPOCH) // MICROSECOND for at in gap)
    )


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
            resolve_name(ROW_BY_ROW)(rows, before, step, event_time, spec.name)
        yield rows


def rejected(
    decoded: DataFrame, spec: Pipeline, inputs: Topics, sides: Mapping[str, DataFrame]
) -> DataFrame:
    """The decoded records, malformed with the reason of the first step that rejects one. As any
    malformed record they have no event time then. Those that enter no step are not judged.
    """
    time = inputs.event_time
    for index, step in enumerate(spec.before_state):
        if not step.rejects:
            continue
        judge = cast("RejectingOperator", operator(step))
        rows, why = judge.reason(decoded, At(spec, index, time, sides))
        enters = F.col(MALFORMED).isNull() & F.col(time).isNotNull()
        enters &= ~fails_one(inputs, "drop")
        reason = F.coalesce(MALFORMED, F.when(enters, why))
        columns = {MALFORMED: reason, time: F.when(reason.isNull(), F.col(time))}
        decoded = rows.withColumns(columns).select(*decoded.columns)
    return decoded


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
    values/pinned.py). no_data_batch.py moves it on.
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
        rows = rows.observe(observation_name(index), *counts).drop(FOUND)
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


KEYS_COUNTED = {"keys": "numRowsTotal", "written": "numRowsUpdated", "removed": "numRowsRemoved"}
"""What Sluice counts of a GroupState in buckets -> the metric whose place it takes: Spark counts
buckets there.
"""


def keys_observation(operator: int) -> str:
    """The name of the observation with these counts; `operator` is how many stateful steps are
    before the step. It has no counts if the batch has visited no bucket: then no key has changed.
    """
    return f"keys_of_{operator}"


def observation_name(index: int) -> str:
    """The name of the observation after a step: rows bigint; after an Aggregate also counted bigint
    (records in its groups); where a stateful step passes the event time on, newest_us bigint.
    """
    return f"after_{index}"


def is_of_a_step(observation: str) -> bool:
    """Whether it has such a name."""
    return observation.startswith(observation_name(0)[:-1])


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


def refuse_unheld(decoded: DataFrame, inputs: Topics, limits: Sequence[Unheld]) -> DataFrame:
    """The decoded records, malformed with the limit's reason where there is one. As any malformed
    record they have no event time then. `limits`: as spec/analysis/lateness.py has them.
    """
    if not limits:
        return decoded
    types = inputs.types
    reasons = (_reason(limit, types[limit.field]) for limit in limits)
    time = inputs.event_time
    return decoded.withColumn(MALFORMED, F.coalesce(MALFORMED, *reasons)).withColumn(
        time, F.when(F.col(MALFORMED).isNull(), F.col(time))
    )


def _reason(limit: Unheld, kind: str) -> Column:
    """Why the record is malformed; null if it is not."""
    outside = F.coalesce(within(limit.gaps, limit.field, kind), F.lit(False))
    # Spark looks at the conditions of a record only where the time is outside.
    reached = (F.expr(condition) for condition in limit.reached_if)
    told = F.concat(F.lit(f"{limit.field} is "), F.col(limit.field).cast("string"))
    return F.when(reduce(Column.__and__, reached, outside), F.concat(told, F.lit(f": {limit.why}")))
