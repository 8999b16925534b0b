"""Deduplicate in Spark: dropDuplicatesWithinWatermark, or dropDuplicates, which evicts only where the event time is a key."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.steps import Deduplicate


def apply(rows: DataFrame, step: Deduplicate) -> DataFrame:
    """The first record of each key. Late rows never reach the store (BaseStreamingDeduplicateExec)."""
    keys = None if step.whole_row else list(step.keys)
    return rows.dropDuplicatesWithinWatermark(keys) if step.scope == "watermark" else rows.dropDuplicates(keys)


def is_late(event_time: str, late_before: Column) -> Column:
    """Spark drops rows at or before the watermark that was in force in the batch before."""
    return F.col(event_time) <= late_before
