"""What each step is in Spark: one object with all of it, so that a new step is one file and one line in operators.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyspark.sql import Column, DataFrame

from spark_jobs.contract.output_mode import OutputMode
from spark_jobs.contract.spec import Pipeline

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.steps.timers import Timers

NO_PREDICATE = "no watermark predicate"


class Place(NamedTuple):
    """Where a step stands: what it needs to know beside its declaration."""

    spec: Pipeline
    step_index: int
    """The place of the step in the spec, from 0."""
    event_time: str
    """The column that is the event time of the rows that enter; empty where they have none."""
    root: UPath
    timers: Timers


class Operator(Protocol):
    """A step at or behind the first stateful one."""

    def apply(self, rows: DataFrame, place: Place, /) -> DataFrame:
        """The rows that leave the step, given those that enter."""

    def counts(self) -> list[Column]:
        """Aggregates over the rows that leave, observed beside their number."""


class StatefulOperator(Operator, Protocol):
    """A step that keeps state."""

    def is_late(self, event_time: str, late_before: Column, output_mode: OutputMode, /) -> Column:
        """Which rows that enter Spark drops as late, as the first stateful step; `late_before` is their watermark."""

    def state(self) -> str:
        """The columns of its state, in words."""

    def predicates(self) -> str:
        """Where Spark puts the watermark's predicates (WatermarkSupport): on state's key, or on the rows' own event time."""

    def eviction(self, spec: Pipeline, /) -> str:
        """What evicts its state, where the output mode evicts any, in words."""
