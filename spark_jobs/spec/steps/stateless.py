"""Stateless: what is so of each step that keeps no state in Spark."""

from __future__ import annotations

from datetime import timedelta

from spark_jobs.spans.span import Span
from spark_jobs.spans.span_sql import Times
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.steps.step import EvictedBy, StepBase


class Stateless(StepBase):
    """Transform, Latest and History: there is nothing to evict, and a row depends on its own."""

    @property
    def evicted_by(self) -> EvictedBy:
        return "nothing"

    @property
    def rows_per_record(self) -> int:
        return 0

    @property
    def update_key(self) -> None:
        return None

    @property
    def grouping_window(self) -> None:
        return None

    @property
    def late_after(self) -> None:
        return None

    @property
    def endless(self) -> bool:
        return False

    @property
    def needs_rocksdb(self) -> bool:
        return False

    def state_key(self, columns: Columns) -> Columns:  # noqa: ARG002 - as the other steps
        return ()

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges) -> Span:  # noqa: ARG002 - as the other steps
        return positions

    def touched(self, positions: Times, ranges: Ranges) -> Times:  # noqa: ARG002 - as the other steps
        return positions
