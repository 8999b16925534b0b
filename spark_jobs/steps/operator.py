"""The interface of a step in Spark.

A new step begins with its declaration, a file of spec/steps/, which names the file that implements
this here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

from pyspark.sql import Column, DataFrame

from spark_jobs.spec import Pipeline
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.spec.steps.step import Step

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.steps.timers import Timers

NO_PREDICATE = "no watermark predicate"
LateBy = Literal["key", "row"]
"""What Spark compares with the watermark (WatermarkSupport): the key of a row's group, or the row.
"""


class At(NamedTuple):
    """Where a step stands."""

    spec: Pipeline
    step_index: int
    """The index of the step in the spec, from 0."""
    event_time: str
    """The event time column of the input rows; empty if they have none."""
    sides: Mapping[str, DataFrame]
    """The rows of each table beside the stream, by its name. They are of one version, which no step
    chooses, and the same if the batch runs again.
    """


class StepContext(NamedTuple):
    """What a step needs in a query besides its declaration: as At, and where state is kept."""

    spec: Pipeline
    step_index: int
    event_time: str
    sides: Mapping[str, DataFrame]
    root: UPath
    timers: Timers
    hidden: str | None = None
    """A column of the input rows that only Spark needs: the pipeline's code does not get it."""


class Operator(Protocol):
    """A step. Of those before the first stateful one `row_part` is all that is asked."""

    def apply(self, rows: DataFrame, context: StepContext, /) -> DataFrame:
        """The output rows for the input rows."""

    def counts(self) -> list[Column]:
        """Aggregates over the output rows. They are observed together with the number of rows."""

    def row_part(self, rows: DataFrame, at: At, /) -> DataFrame:
        """What Spark computes of each input row by itself, without state and without other rows of
        the stream: of a step without state its output, else the rows, or a column for each
        expression.
        """


class StatefulOperator(Operator, Protocol):
    """A step that keeps state."""

    def late_by(self, output_mode: OutputMode, /) -> LateBy | None:
        """By what Spark drops late rows; None if it drops none."""

    def is_late(self, event_time: str, late_before: Column, /) -> Column:
        """boolean over the input rows: whether Spark drops them as late if this is the first
        stateful step, and `late_by` is not None.

        `late_before` is the watermark for late rows. No `F.window` here: it drops the rows without
        an event time, and malformed records are among them.
        """

    def state(self) -> str:
        """Description of its state's columns."""

    def predicates(self) -> str:
        """Description of the watermark predicates (WatermarkSupport): on the state's key, or on the
        event time of the rows.
        """

    def eviction(self, spec: Pipeline, /) -> str:
        """Description of when its state is evicted, for output modes that evict state."""


class RejectingOperator(Protocol):
    """How a step that puts records into quarantine judges them. The rest is an Operator's."""

    def reason(self, decoded: DataFrame, at: At, /) -> tuple[DataFrame, Column]:
        """The decoded records, one row each, with columns beside that this needs: and why each is
        malformed; null if it is not.
        """


class TakingOperator(Protocol):
    """How a step that takes inputs apart is applied. The rest is a StatefulOperator's: the rows
    there have the columns of all inputs, and `topic` with the input's name.
    """

    def apply(self, inputs: Mapping[str, DataFrame], context: StepContext, /) -> DataFrame:
        """The output rows for the rows of each input, by its name: with the input's own columns. In
        a stream each has a watermark of its own.
        """


def operator(step: Step) -> Operator:
    """The operator of any step."""
    return cast("Operator", resolve_name(step.operator)(step))


def stateful_operator(step: Step) -> StatefulOperator:
    """The operator of a stateful step."""
    return cast("StatefulOperator", resolve_name(step.operator)(step))
