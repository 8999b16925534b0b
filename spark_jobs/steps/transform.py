"""Transform in Spark: a condition, a query or a function, on rows that keep no state."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.steps import Transform
from spark_jobs.steps.logic import load
from spark_jobs.steps.operator import Place

ROW_BY_ROW = {"Project", "Filter", "SubqueryAlias", "View"}
"""Nodes of an analyzed plan that give at most one row for each row."""
STATEFUL = {
    "Aggregate": "an aggregation keeps state: use the step Aggregate",
    "Deduplicate": "it keeps state: use the step Deduplicate",
    "DeduplicateWithinWatermark": "it keeps state: use the step Deduplicate",
    "Distinct": "it keeps state: use the step Deduplicate",
    "GlobalLimit": "a row limit keeps a count for ever, and stops reading before every record has its account: bound a run "
                   "with max_offsets_per_batch and max_batches",
    "Join": "a join of streams keeps state, and Sluice has no step for it yet",
    "FlatMapGroupsInPandasWithState": "it keeps state: use the step GroupState",
    "TransformWithStateInPySpark": "it keeps state: use the step GroupState",
    "EventTimeWatermark": "the watermark is the pipeline's: watermark_delay",
}
"""Nodes that a Transform may not add, and the reason."""


class TransformOperator(NamedTuple):
    """A Transform behind the first stateful step."""

    step: Transform

    def apply(self, rows: DataFrame, place: Place) -> DataFrame:
        """As `apply` below."""
        return apply(rows, self.step, place.spec.name)

    def counts(self) -> list[Column]:
        return []


def apply(rows: DataFrame, step: Transform, pipeline: str) -> DataFrame:
    """The rows that the step gives. Raises SpecInvalid where it cannot, or where it keeps state."""
    if step.where is not None:
        return rows.where(step.where)
    what = f"{pipeline}: Transform({f'sql={step.sql!r}' if step.sql else f'function={step.function!r}'})"
    try:
        if step.sql is not None:
            rows.createOrReplaceTempView("rows")
            given = rows.sparkSession.sql(step.sql)
        else:
            given = load(pipeline, step.function or "")(rows)
    except PySparkException as error:
        raise SpecInvalid(f"{what}: {_first_line(error)}", "Correct it in spec.py or logic.py.") from None
    if not isinstance(given, DataFrame):
        raise SpecInvalid(f"{what} gave {type(given).__name__}, not a DataFrame.", "Return the DataFrame in logic.py.")
    _refuse_state(given, rows, what)
    return given


def refuse_other_than_row_by_row(given: DataFrame, before: DataFrame, event_time: str, pipeline: str) -> None:
    """Before the first stateful step each row must be a record still: raise SpecInvalid where it may be two, or unknown."""
    for name in ("kafka", event_time):
        if name not in given.columns:
            raise SpecInvalid(f"{pipeline}: a Transform before the first stateful step leaves out the column {name}.",
                              "Keep it: SELECT *, or SELECT ..., kafka; late records are found again by it.")
    added = [name for name in nodes(given)[: len(nodes(given)) - len(nodes(before))] if name not in ROW_BY_ROW]
    if added:
        raise SpecInvalid(f"{pipeline}: a Transform before the first stateful step has {added[0]}, which may make more rows.",
                          "Put it after the stateful step, or write it with columns and conditions alone.")


def nodes(rows: DataFrame) -> list[str]:
    """The names of the analyzed plan's nodes, from the last to the first."""
    plan: Any = rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - no public way to a plan
    return [name for line in plan.splitlines() if (name := re.sub(r"^[\s:+\-~*!]*", "", line).split(" ")[0].split("(")[0])]


def _refuse_state(given: DataFrame, before: DataFrame, what: str) -> None:
    for name in set(nodes(given)) & set(STATEFUL):
        if nodes(given).count(name) > nodes(before).count(name):
            raise SpecInvalid(f"{what}: {STATEFUL[name]}.", "A Transform keeps no state.")


def _first_line(error: Exception) -> str:
    return next(line.strip() for line in str(error).splitlines() if line.strip())
