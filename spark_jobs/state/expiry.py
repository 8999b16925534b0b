"""Expiry: how many rows of a step's state expire when, in one more reading of a variable that has
such times.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.spec import Pipeline
from spark_jobs.state.answer import Expiring, Expiry
from spark_jobs.state.reader import StateOperator, opened
from spark_jobs.state.store_columns import StoreColumn
from spark_jobs.state.table import Table
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.values.spans.span import EPOCH, MICROSECOND

HOUR: Final = 3_600_000_000
"""Microseconds."""
LADDER: Final = ((48, 1), (60 * 24, 24), (10 * 365 * 24, 30 * 24))
"""Up to so many hours, spans of so many hours: counting the next day needs its hours."""
LATER: Final = -1


class Instants(NamedTuple):
    """The two times from which it is counted."""

    watermark: datetime | None
    clock: datetime


def expiry(
    spark: SparkSession,
    checkpoint: SparkPath,
    batch: int,
    operator: StateOperator,
    spec: Pipeline,
    number: int,
    table: Table,
    now: Instants,
) -> Expiry:
    """Of one variable of a step, after a batch."""
    step, variable = spec.steps[number - 1], table.variable
    when = step.expires(variable, table.names, _event_time(spec, number), spec.output_mode)
    since = {"watermark": now.watermark, "clock": now.clock}.get(when.by)
    rows: dict[int | None, int] = {LATER if when.column else None: table.total}
    if when.column and since is not None:
        stored, columns = opened(spark, checkpoint, batch, operator, variable, step)
        rows = _by_span(stored, next(each for each in columns if each.name == when.column), since)
    return Expiry(
        variable=variable.name,
        counted=when.counted,
        by=when.by,
        since=since,
        spans=tuple(
            Expiring(hours=hours, rows=rows[hours])
            for hours in sorted(each for each in rows if each is not None and each != LATER)
        ),
        later=rows.get(LATER, 0),
        never=rows.get(None, 0),
    )


def _by_span(stored: DataFrame, column: StoreColumn, since: datetime) -> dict[int | None, int]:
    """Hours to the end of a span -> rows in it; LATER, and None for those without a time."""
    # As a double, which is exact for two centuries and overflows for no time.
    behind = F.unix_micros(column.expression).cast("double") - (since - EPOCH) / MICROSECOND
    counts = stored.groupBy(_span(behind).alias("hours")).count().collect()
    return {row["hours"]: row["count"] for row in counts}


def _span(behind: Column) -> Column:
    found = F.when(behind.isNull(), None).when(behind <= 0, 0)
    for most, hours in LADDER:
        end = (F.ceil(behind / (hours * HOUR)) * hours).cast("int")
        found = found.when(behind <= most * HOUR, end)
    return found.otherwise(LATER)


def _event_time(spec: Pipeline, number: int) -> str | None:
    time: str | None = spec.inputs.event_time
    for step in spec.steps[: number - 1]:
        time = step.time_after(time)
    return time
