"""Raw bytes: they are no column of a step.

A drain keeps kafka.raw of the records that may be rejected, and it is null in all others; a repair
reads it whole. So what a Transform computes of it would be null in most rows, and something else in
a repair, and no result shows that: it is refused where the step is planned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.pipeline import NO_RAW, NO_RAW_WAY
from spark_jobs.steps.sql.catalyst import Node, analyzed, below, class_name, sequence
from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


RAW: Final = "raw"


def refuse_raw_bytes(after: DataFrame, added: int, pipeline: str) -> None:
    """Raise SpecInvalid if one of the last `added` nodes of the plan uses kafka.raw, by its name or
    as a part of the whole kafka. That column may be passed on, and its other fields be read.

    Each of these nodes has one child (transform.require_row_by_row).
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
