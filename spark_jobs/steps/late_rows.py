"""Late rows: Spark's plan of a batch, held to what the account takes for late.

Spark does not say which rows it drops. So the account has the same expression (chain.is_late), and
relies on a predicate in Spark's first stateful operator. Spark makes that of a column with the
watermark. Where the operator's input has none, Spark drops nothing, without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Pipeline
from spark_jobs.steps.chain import late_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaObject

    from spark_jobs.steps.operator import LateBy

STATEFUL = "org.apache.spark.sql.execution.streaming.operators.stateful"
OF_ONE_INPUT = f"{STATEFUL}.WatermarkSupport"
OF_TWO_INPUTS = f"{STATEFUL}.join.StreamingSymmetricHashJoinExec"
"""Operators of Spark that drop late rows."""
WATERMARK = "spark.watermarkDelayMs"
"""In the metadata of a column that has one (EventTimeWatermark.delayKey)."""


def plan_of_batch(spark: SparkSession) -> JavaObject:
    """Called in the function of a foreachBatch: the SparkPlan that runs its batch. `spark` started
    the query.
    """
    query = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    queries: Any = spark._jsparkSession.streams()  # noqa: SLF001 - no public way from a batch to its plan
    return queries.get(query).streamingQuery().lastExecution().executedPlan()


def refuse_late_rows(plan: JavaObject, spec: Pipeline) -> None:
    """Raise SpecInvalid if a first stateful operator of a SparkPlan keeps rows that the account
    takes for late, or if the plan has none.
    """
    by = late_by(spec)
    if by is None:
        return
    entries = _first(plan)
    columns = [each for entry in entries for each in _compared(entry, by)]
    if not entries or not all(map(_has_watermark, columns)):
        raise SpecInvalid.late_rows_enter(
            pipeline=spec.name, step=spec.first_stateful + 1, column=spec.inputs.event_time
        )


def _compared(entry: JavaObject, by: LateBy) -> Iterator[JavaObject]:
    """The columns of which Spark compares one with the watermark: the key's, or each input's.

    The predicates themselves are not asked for: made here, they would go with each task.
    """
    if by == "key":
        yield entry.keyExpressions()
        return
    if _is(entry, OF_TWO_INPUTS):
        yield entry.left().output()
        yield entry.right().output()
        return
    yield entry.child().output()  # a GroupState's other child has the state that it begins with


def _has_watermark(columns: JavaObject) -> bool:
    """Of a Seq of Catalyst's attributes."""
    return any(columns.apply(n).metadata().contains(WATERMARK) for n in range(columns.size()))


def _first(plan: JavaObject) -> list[JavaObject]:
    """The operators nearest to the sources that drop late rows, and all of two inputs."""
    children = plan.children()
    below = [each for number in range(children.size()) for each in _first(children.apply(number))]
    if _is(plan, OF_TWO_INPUTS) or (not below and _is(plan, OF_ONE_INPUT)):
        return [*below, plan]
    return below


def _is(plan: JavaObject, kind: str) -> bool:
    return bool(is_instance_of(SparkContext._gateway, plan, kind))  # noqa: SLF001 - no public way to it
