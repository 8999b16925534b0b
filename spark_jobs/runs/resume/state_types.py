"""State types: what the rows of a query's state are made of, from the query's plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.steps.catalyst import (
    Node,
    aggregate_calls,
    analyzed,
    class_name,
    is_kind,
    sequence,
)
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
