"""Deduplicate in Spark: dropDuplicatesWithinWatermark, or dropDuplicates, which evicts only if the
event time is a key.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Deduplicate, Pipeline
from spark_jobs.spec.duration import interval
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.steps.operator import At, LateBy, StepContext


class DeduplicateOperator(NamedTuple):
    """Spark drops late rows before they reach the state store (BaseStreamingDeduplicateExec)."""

    step: Deduplicate

    def apply(self, rows: DataFrame, _: StepContext) -> DataFrame:
        """The first record of each key."""
        keys = None if self.step.whole_row else list(self.step.keys)
        return (
            rows.dropDuplicatesWithinWatermark(keys)
            if self.step.scope == "watermark"
            else rows.dropDuplicates(keys)
        )

    def counts(self) -> list[Column]:
        return []

    def late_by(self, _: OutputMode) -> LateBy:
        return "row"

    def is_late(self, event_time: str, late_before: Column) -> Column:
        """Spark drops rows at or before the watermark of the previous batch."""
        return F.col(event_time) <= late_before

    def row_part(self, rows: DataFrame, _: At) -> DataFrame:
        """The rows: the keys are columns."""
        return rows

    def state(self) -> str:
        value = (
            "the value is the time when it expires"
            if self.step.scope == "watermark"
            else "it has no value"
        )
        return f"the key is {', '.join(self.step.keys)}; {value}"

    def predicates(self) -> str:
        match self.step.scope:
            case "watermark":
                return "late rows by the event time of the data, eviction by the stored value"
            case "for_ever":
                return "late rows by the event time of the data"
            case "event_time":
                return "watermark predicate on the key, for late rows and for eviction"

    def eviction(self, spec: Pipeline) -> str:
        if self.step.scope == "event_time":
            return "evicted when the watermark has passed its event time"
        delay = interval(spec.watermark_delay) if spec.watermark_delay else "0 seconds"
        return f"evicted when the watermark has passed its event time plus {delay}"
