"""Unholdable: times that a step cannot hold. A query fails on the rows that have one.

A record's own fields are judged before any step (classify/unheld.py). What a Transform or an
Aggregate has made of them is known here alone, so the query fails on such a row, as on any other of
which an expression fails: the record is looked for and is malformed
(runs/failures/failing_search.py).
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.unheld import late_if_far, unheld
from spark_jobs.values.gap import Gap
from spark_jobs.values.spans.span import EPOCH, MICROSECOND


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
