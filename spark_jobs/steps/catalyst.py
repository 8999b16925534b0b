"""Catalyst: Spark's trees of expressions and plans in the JVM, walked from Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from pyspark import SparkContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TREES = "org.apache.spark.sql.catalyst."
Node = Any
"""A node of Spark's tree, in the JVM: an expression or a plan."""


def analyzed(rows: DataFrame) -> Node:
    """The analyzed plan of the rows."""
    return rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark has no public method for a plan


def asks_for_the_time(rows: DataFrame) -> bool:
    """Whether the rows depend on the time or the session of their query, by a function or by a text
    such as 'now' that becomes a time.
    """
    catalyst: Any = rows.sparkSession._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]  # noqa: SLF001 - no public way to it
    plan = analyzed(rows)
    special = getattr(getattr(catalyst.optimizer, "SpecialDatetimeValues$"), "MODULE$")
    now = plan.containsPattern(catalyst.trees.TreePattern.CURRENT_LIKE())
    return bool(now or not special.apply(plan).fastEquals(plan))


def grouping_input(groups: DataFrame) -> DataFrame:
    """What Spark computes of each row before it groups: the grouping columns, and a column for each
    argument and condition of the aggregate functions.

    `groups` is a groupBy(...).agg(...), or a selection from one.
    """
    from pyspark.sql.classic.column import Column  # noqa: PLC0415 - only where a query failed
    from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - as above

    spark = groups.sparkSession
    sql = spark._jvm.org.apache.spark.sql.classic  # type: ignore[union-attr]  # noqa: SLF001 - no public way to it
    plan = analyzed(groups)
    while class_name(plan) != "Aggregate":
        plan = plan.children().apply(0)
    before = DataFrame(
        sql.Dataset.ofRows(spark._jsparkSession, plan.child()),  # noqa: SLF001 - as above
        spark,
    )
    inputs = sequence(plan.groupingExpressions())
    for call in aggregate_calls(plan):
        inputs += sequence(call.aggregateFunction().children())
        inputs += [call.filter().get()] if call.filter().isDefined() else []
    columns = (Column(sql.ExpressionUtils.column(each)) for each in inputs)
    return before.select(*(each.alias(f"input_{n}") for n, each in enumerate(columns)))


def aggregate_calls(aggregate: Node) -> list[Node]:
    """The calls of aggregate functions in an Aggregate of a plan, in the order of its measures."""
    measures = sequence(aggregate.aggregateExpressions())
    return [
        node
        for measure in measures
        for node in all_nodes(measure)
        if is_kind(node, "expressions.aggregate.AggregateExpression")
    ]


def all_nodes(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for child in below(node):
        yield from all_nodes(child)


def below(node: Node, of: str = "") -> list[Node]:
    """What is directly below a node of this class: plans within expressions and expressions within
    plans too.
    """
    of = of or full_name(node)
    found = [] if is_kind(node, "trees.LeafLike", of) else sequence(node.children())
    if _has_inner(node, of):
        found += sequence(node.innerChildren())
    if is_kind(node, "plans.QueryPlan", of):
        found += sequence(node.expressions())
    if is_kind(node, "expressions.PlanExpression", of):
        found.append(node.plan())
    return found


def sequence(items: Any) -> list[Any]:
    """A Scala Seq as a list."""
    return [items.apply(index) for index in range(items.size())]


def full_name(node: Node) -> str:
    """The name of its class, with the package. A call of the JVM costs: whoever asks several things
    of a node asks this once.
    """
    return str(node.getClass().getName())


def class_name(node: Node, of: str = "") -> str:
    """The name of its class, without the package."""
    of = of or full_name(node)
    if of not in _NAMES:
        _NAMES[of] = str(node.getClass().getSimpleName())
    return _NAMES[of]


def is_kind(node: Node, name: str, of: str = "") -> bool:
    """Whether it is of this class of Catalyst's, or of one below."""
    key = (of or full_name(node), name)
    if key not in _KINDS:
        _KINDS[key] = bool(is_instance_of(SparkContext._gateway, node, TREES + name))  # noqa: SLF001 - no public way to it
    return _KINDS[key]


def _has_inner(node: Node, of: str) -> bool:
    """Whether its class has inner children of its own, and not those of every tree: none."""
    key = (of, INNER)
    if key not in _KINDS:
        gateway: Any = SparkContext._gateway  # noqa: SLF001 - as above
        none = gateway.new_array(gateway.jvm.java.lang.Class, 0)
        declares = node.getClass().getMethod(INNER, none).getDeclaringClass()
        _KINDS[key] = str(declares.getName()) != f"{TREES}trees.TreeNode"
    return _KINDS[key]


INNER: Final = "innerChildren"
# The JVM answers once for a class.
_NAMES: dict[str, str] = {}
_KINDS: dict[tuple[str, str], bool] = {}
