"""Other state: whether a spec whose expressions were corrected continues on the stored state.

A person has declared the correction (compatible_expressions). Here Spark tells, before anything is
stored or read, whether the types of the state stay: by the query's plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import ndiff
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.run import Run
from spark_jobs.dataflow import dataflow
from spark_jobs.errors import StateIncompatible
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.steps.catalyst import (
    Node,
    aggregate_calls,
    analyzed,
    class_name,
    is_kind,
    sequence,
)
from spark_jobs.steps.timers import Timers
from spark_jobs.values.own_columns import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STATEFUL = {
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "FlatMapGroupsInPandasWithState",
    "TransformWithStateInPySpark",
}
"""Nodes of an analyzed plan that keep state."""


def refuse_other_state(run: Run, earlier: Pipeline) -> None:
    """Raise StateIncompatible if the expressions of the run's spec need another state than
    `earlier`'s.
    """
    name = run.spec.name
    before, after = (state_types(_query(run, spec)) for spec in (earlier, run.spec))
    if before != after:
        changes = [line for line in ndiff(before, after) if line.startswith(("-", "+"))]
        raise StateIncompatible.corrected_type_differs(pipeline=name, changes="; ".join(changes))


def _query(run: Run, spec: Pipeline) -> DataFrame:
    records = source_of(spec, run.settings).stream(run.spark)
    flow = dataflow(records, spec, run.settings, run.inputs)
    return flow.output(run.paths.root, Timers(run.spark))


def state_types(rows: DataFrame) -> list[str]:
    """A line for the rows that the query writes; then, from the sink to the source, one for the
    rows that enter each stateful step, and one for each aggregate function.

    Two queries with equal lines store states of equal types.
    """
    return [f"rows out: {_columns(analyzed(rows))}", *_lines(analyzed(rows))]


def _lines(node: Node) -> Iterator[str]:
    children = sequence(node.children())
    if class_name(node) in STATEFUL:
        yield f"{class_name(node)}: {_columns(children[0])}"
        if BUCKET in {str(name) for name in children[0].schema().fieldNames()}:
            yield f"in buckets: {_columns(_packed(children[0]))}"
    if class_name(node) == "Aggregate":
        # Spark keeps one buffer for equal calls, in the order in which they first occur.
        yield from dict.fromkeys(map(_call, aggregate_calls(node)))
    for child in children:
        yield from _lines(child)


def _packed(node: Node) -> Node:
    """The rows as they are before they are packed: below the first MapInArrow."""
    while class_name(node) != "MapInArrow":
        [node] = sequence(node.children())
    [below] = sequence(node.children())
    return below


def _columns(plan: Node) -> str:
    return str(plan.schema().catalogString())


def _call(call: Node) -> str:
    function = call.aggregateFunction()
    runs = function
    while is_kind(runs, "expressions.RuntimeReplaceable"):
        runs = runs.replacement()
    types = ", ".join(each.dataType().catalogString() for each in sequence(function.children()))
    return f"{function.prettyName()}({types}), kept as {runs.aggBufferSchema().catalogString()}"
