"""Row by row: what a person's text or function before the first stateful step may give. Each of its
rows is still one record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.pipeline.impossible import NO_RAW, NO_RAW_WAY
from spark_jobs.steps.catalyst import Node, analyzed, below, class_name, sequence
from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    from spark_jobs.spec.steps.step import Step

RAW: Final = "raw"
ROW_BY_ROW = {"Project", "Filter", "SubqueryAlias", "View"}
"""Nodes of an analyzed plan that return at most one row for each input row."""


def refuse_unfit(
    after: DataFrame, before: DataFrame, step: Step, event_time: str, pipeline: str
) -> None:
    """Raise SpecInvalid if the step may have made several rows of one, loses a column that a record
    needs, or reads the records' raw bytes.
    """
    added = 1  # a condition adds one node
    if step.condition is None:
        added = _require_row_by_row(after, before, event_time, pipeline)
    _refuse_raw_bytes(after, added, pipeline)


def _require_row_by_row(after: DataFrame, before: DataFrame, event_time: str, pipeline: str) -> int:
    """Before the first stateful step each row must be one record. The number of nodes that `after`
    has more.

    Raises SpecInvalid if a record may become several rows, or if `after` lacks the column kafka or
    the event time.
    """
    for name in ("kafka", event_time):
        if name not in after.columns:
            raise SpecInvalid.transform_loses_column(pipeline=pipeline, name=name)
    names = plan_nodes(after)
    added = names[: len(names) - len(plan_nodes(before))]
    if others := [name for name in added if name not in ROW_BY_ROW]:
        raise SpecInvalid.transform_makes_rows(pipeline=pipeline, condition=others[0])
    return len(added)


def plan_nodes(rows: DataFrame) -> list[str]:
    """The names of the analyzed plan's nodes, from the last operation to the first."""
    # Any: a Java string through py4j.
    plan: Any = rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - Spark has no public method for a plan
    return [
        name
        for line in plan.splitlines()
        if (name := re.sub(r"^[\s:+\-~*!]*", "", line).split(" ")[0].split("(")[0])
    ]


def _refuse_raw_bytes(after: DataFrame, added: int, pipeline: str) -> None:
    """Raise SpecInvalid if one of the last `added` nodes of the plan uses kafka.raw, by its name or
    as a part of the whole kafka. That column may be passed on, and its other fields be read.

    Each of these nodes has one child (_require_row_by_row).
    """
    node = analyzed(after)
    for _ in range(added):
        if any(_uses_raw(each) for each in sequence(node.expressions())):
            raise SpecInvalid.raw_bytes_early(
                pipeline=pipeline,
                why=NO_RAW,
                way=NO_RAW_WAY,
            )
        node = node.children().apply(0)


def _uses_raw(expression: Node) -> bool:
    if class_name(expression) == "AttributeReference":
        return False
    # Asked first: a walk is a hundred calls into the JVM.
    if KAFKA not in {each.name() for each in sequence(expression.references().toSeq())}:
        return False
    if class_name(expression) == "Alias" and _is_kafka(expression.child()):
        return bool(expression.name() != KAFKA)
    return _reads_raw(expression)


def _reads_raw(node: Node) -> bool:
    if class_name(node) == "GetStructField" and _is_kafka(node.child()):
        return bool(node.extractFieldName() == RAW)
    return _is_kafka(node) or any(_reads_raw(each) for each in below(node))


def _is_kafka(node: Node) -> bool:
    return class_name(node) == "AttributeReference" and bool(node.name() == KAFKA)
