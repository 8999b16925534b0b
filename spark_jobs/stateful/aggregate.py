"""Aggregate in Spark: groupBy over a window of the event time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.steps import Aggregate


def apply(rows: DataFrame, step: Aggregate, event_time: str) -> DataFrame:
    """Columns: window_start and window_end timestamp, the keys, the measures. One row a group, when its window closes."""
    measures = [F.expr(sql).alias(name) for name, sql in step.measures.items()]
    grouped = rows.groupBy(_window(step, event_time).alias("window"), *step.keys).agg(*measures)
    bounds = [F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")]
    return grouped.select(*bounds, *step.keys, *step.measures)


def is_late(step: Aggregate, event_time: str, late_before: Column) -> Column:
    """A row is late when its window had closed: Spark compares the window's end with the watermark."""
    return _window(step, event_time).getField("end") <= late_before


def _window(step: Aggregate, event_time: str) -> Column:
    return F.window(event_time, interval(step.window.size))
