"""Transform in Spark: a condition, a query or a function. It keeps no state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Transform
from spark_jobs.steps.logic import load
from spark_jobs.steps.operator import At, StepContext
from spark_jobs.steps.row_by_row import plan_nodes
from spark_jobs.values.own_columns import KAFKA, PREFIX, is_own

if TYPE_CHECKING:
    from spark_jobs.steps.canonical.chain import Given

STATEFUL = {
    "Aggregate": "an aggregation keeps state: use the step Aggregate",
    "Deduplicate": "it keeps state: use the step Deduplicate",
    "DeduplicateWithinWatermark": "it keeps state: use the step Deduplicate",
    "Distinct": "it keeps state: use the step Deduplicate",
    "GlobalLimit": "a row limit keeps its count for ever and leaves later records without an "
    "outcome: limit a run with "
    "max_offsets_per_batch and max_batches",
    "Join": "a join of streams keeps state, and Sluice has no step for it",
    "FlatMapGroupsInPandasWithState": "it keeps state: use the step GroupState",
    "TransformWithStateInPySpark": "it keeps state: use the step GroupState",
    "EventTimeWatermark": "the pipeline sets the watermark: watermark_delay",
}
"""Node of an analyzed plan -> why a Transform must not add it."""


class TransformOperator(NamedTuple):
    """A Transform, anywhere."""

    step: Transform

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """See the function `apply`."""
        return apply(rows, self.step, context.spec.name)

    def counts(self) -> list[Column]:
        return []

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        return apply(rows, self.step, at.spec.name)


def all_at_once(rows: DataFrame, step: Transform, given: Given) -> DataFrame:
    """What its operator gives: it looks at no other batch."""
    return apply(rows.drop(KAFKA), step, given.spec.name)


def apply(rows: DataFrame, step: Transform, pipeline: str) -> DataFrame:
    """The step's output rows.

    Raises SpecInvalid if Spark rejects the query or the function, or if it keeps state.
    """
    if step.where is not None:
        return rows.where(step.where)
    given = f"sql={step.sql!r}" if step.sql else f"function={step.function!r}"
    what = f"{pipeline}: Transform({given})"
    try:
        if step.sql is not None:
            rows.createOrReplaceTempView("rows")
            output = rows.sparkSession.sql(step.sql)
        else:
            output = load(pipeline, step.function or "")(rows)
    except PySparkException as error:
        raise SpecInvalid.transform_failed(what=what, error=_first_line(error)) from None
    if not isinstance(output, DataFrame):
        raise SpecInvalid.no_dataframe(what=what, kind=type(output).__name__)
    _refuse_state(output, rows, what)
    _refuse_own_columns(output, rows, what)
    return output


def _refuse_state(after: DataFrame, before: DataFrame, what: str) -> None:
    for name in set(plan_nodes(after)) & set(STATEFUL):
        if plan_nodes(after).count(name) > plan_nodes(before).count(name):
            raise SpecInvalid.transform_with_state(what=what, why=STATEFUL[name])


def _refuse_own_columns(after: DataFrame, before: DataFrame, what: str) -> None:
    if taken := [name for name in after.columns if is_own(name) and name not in before.columns]:
        raise SpecInvalid.column_reserved(
            what=what,
            column=taken[0],
            own=KAFKA,
            prefix=PREFIX,
        )


def _first_line(error: Exception) -> str:
    return next(line.strip() for line in str(error).splitlines() if line.strip())
