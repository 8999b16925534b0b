"""SQL tree: what Spark's own parser makes of the SQL in a spec, and what of it Sluice refuses.

contract/sql.py refuses what its regular expressions see, when the spec is loaded, without a JVM.
What gets past them is refused here, before a run reads a record: the parser (CatalystSqlParser)
has no doubt about comments, back-quotes, escapes and nested queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from pyspark import SparkContext

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.step.step import SqlText

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = ("reflect", "try_reflect", "java_method")
TREES = "org.apache.spark.sql.catalyst."
ROWS = "rows"
Node = Any
"""A node of Spark's tree, in the JVM: an expression or a plan."""


def refuse_unsafe_trees(spark: SparkSession, spec: Pipeline) -> None:
    """Raise SpecInvalid, which names step, field and reason, for SQL that reaches the JVM, files
    or tables other than `rows`, calls a function that is not Spark's own, or does not parse.
    """
    for number, step in enumerate(spec.steps, 1):
        for sql in step.sql_texts:
            if why := reason(spark, sql):
                raise SpecInvalid(
                    f"step {number} ({step.kind}) of {spec.name}: {sql.field} is {sql.text!r}: "
                    f"{why}.",
                    "Compute on the record's columns with Spark's own functions, or in logic.py.",
                )


def reason(spark: SparkSession, sql: SqlText) -> str:
    """Why this text is refused; empty if it is not."""
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - no public way to it
    try:
        tree = parser.parsePlan(sql.text) if sql.query else parser.parseExpression(sql.text)
    except Exception as error:  # noqa: BLE001 - ParseException, whatever PySpark makes of it
        return f"Spark cannot parse it: {str(error).strip().splitlines()[0]}"
    nodes = [*_nodes(tree)]
    known = {
        ROWS,
        *(name for node in nodes if _name(node) == "UnresolvedWith" for name in _ctes(node)),
    }
    return next(filter(None, (_wrong(spark, node, known, sql) for node in nodes)), "")


def _wrong(spark: SparkSession, node: Node, known: set[str], sql: SqlText) -> str:
    """What is wrong with one node; empty if nothing is."""
    name = _name(node)
    if name == "UnresolvedRelation":
        relation = ".".join(_sequence(node.multipartIdentifier()))
        return "" if relation.lower() in known else f"it reads {relation}, and not rows"
    if name == "UnresolvedFunction":
        return _call(spark, "FunctionRegistry", _sequence(node.nameParts()))
    if name == "UnresolvedTableValuedFunction":
        return _call(spark, "TableFunctionRegistry", _sequence(node.name()))
    if "UnresolvedIdentifier" in name:
        return "IDENTIFIER makes a name of an expression, which may give any"
    if any(_is(node, f"plans.logical.{kind}") for kind in ("Command", "ParsedStatement")):
        return "it is a command, and not a query"
    query = not sql.query and _is(node, "expressions.PlanExpression")
    return "the field takes an expression over a record's columns, not a query" if query else ""


def _call(spark: SparkSession, registry: str, parts: list[str]) -> str:
    name = ".".join(parts)
    if parts[-1].lower() in JAVA:
        return f"{name} calls into the JVM, with the rights of the whole job"
    return "" if _registered(spark, registry, parts) else f"Spark has no function {name}"


def _registered(spark: SparkSession, registry: str, parts: list[str]) -> bool:
    """Whether it is one of Spark's own functions, which no session and no file has added."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - no public way to it
    assert jvm is not None
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(parts[-1].lower())
    builtin = getattr(jvm.org.apache.spark.sql.catalyst.analysis, registry).builtin()
    return len(parts) == 1 and bool(builtin.functionExists(identifier))


def _nodes(node: Node) -> Iterator[Node]:
    """The node and all below it: plans within expressions and expressions within plans too."""
    yield node
    below = _sequence(node.children()) + _sequence(node.innerChildren())
    if _is(node, "plans.QueryPlan"):
        below += _sequence(node.expressions())
    if _is(node, "expressions.PlanExpression"):
        below.append(node.plan())
    for child in below:
        yield from _nodes(child)


def _ctes(node: Node) -> list[str]:
    """The names that a WITH gives to its queries."""
    return [relation._1().lower() for relation in _sequence(node.cteRelations())]  # noqa: SLF001 - a tuple of Scala's


def _sequence(items: Any) -> list[Any]:
    """A Scala Seq as a list."""
    return [items.apply(index) for index in range(items.size())]


def _name(node: Node) -> str:
    return str(node.getClass().getSimpleName())


def _is(node: Node, name: str) -> bool:
    """Whether it is of this class of Catalyst's, or of one below. Asks the JVM once for a class."""
    key = (str(node.getClass().getName()), name)
    if key not in _KINDS:
        _KINDS[key] = bool(is_instance_of(SparkContext._gateway, node, TREES + name))  # noqa: SLF001 - no public way to it
    return _KINDS[key]


_KINDS: dict[tuple[str, str], bool] = {}
