"""SQL tree: what Spark's own parser makes of the SQL in a spec, and what of it Sluice refuses.

The parser (CatalystSqlParser) decides: it has no doubt about comments, back-quotes, escapes and
nested queries. It does so in `sluice validate --deep` and in each run, before a record is read. The
little that spec/sql/types.py refuses when a spec is loaded, without a JVM, would be refused here
too.

Refused are relations other than `rows`, commands, and functions that are not in the allow-list
(functions.py). Not a deny-list: what a newer Spark adds may reach a file or the JVM, and nobody
has looked yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Pipeline
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.sql.refused import REFUSED
from spark_jobs.spec.sql.texts import SqlText, sql_texts
from spark_jobs.steps.sql.catalyst import Node, below, class_name, is_kind, sequence
from spark_jobs.steps.sql.conditions import refuse_unusable_rules
from spark_jobs.steps.sql.functions import ALLOWED, ALLOWED_TABLES, MOST_ARGUMENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = "rows"
BARE = frozenset({"current_user", "user", "session_user"})
"""Functions that are refused, and that SQL may call without parentheses."""
LEAVES = {
    "UnresolvedRelation",
    "UnresolvedTableValuedFunction",
    "UnresolvedInlineTable",
    "ResolvedInlineTable",
    "LocalRelation",
    "OneRowRelation",
}
"""The leaves of a plan that read a known relation, or values in the text. Others are refused: a
RelationTimeTravel hides the table that it reads.
"""
_STEP = re.compile(r"steps\[(?P<index>\d+)\]\.(?P<field>.*)", re.DOTALL)
Names = frozenset[str]
"""Relations that a query may read, in lower case."""


def refuse_unsafe_trees(spark: SparkSession, spec: Pipeline) -> None:
    """Raise SpecInvalid, which names step, field and reason, for SQL that reaches the JVM, files
    or tables other than `rows`, calls a function that is not allowed, or does not parse; and for a
    rule that is no condition over its topic's columns.
    """
    _refuse_unsafe(spark, spec, sql_texts(spec))
    refuse_unusable_rules(spark, spec)


def _refuse_unsafe(spark: SparkSession, spec: Pipeline, texts: Iterable[SqlText]) -> None:
    columns = _columns(spec)
    for sql in texts:
        if why := reason(spark, sql, columns):
            raise SpecInvalid.expression_refused(
                field=_of_step(spec, sql.field),
                text=sql.text,
                why=why,
            )


def refuse_unsafe_checks(spark: SparkSession, spec: Pipeline) -> None:
    """The same, of the checks alone: no identity has what they were when a run judged them."""
    every = sql_texts(spec.model_copy(update={"steps": ()}))
    _refuse_unsafe(spark, spec, (each for each in every if "rules[" not in each.field))


def _columns(spec: Pipeline) -> set[str]:
    """The columns of the records, and of the outputs that are known without Spark."""
    columns: Columns = spec.inputs.columns
    found = {*spec.inputs.columns}
    for step in spec.steps:
        columns = step.columns_after(columns)
        found |= {*(columns or ())}
    return found


def _of_step(spec: Pipeline, field: str) -> str:
    """What a person calls the field: its step by its number, from 1."""
    if (found := _STEP.match(field)) is None:
        return f"{spec.name}: {field}"
    number = int(found["index"])
    kind = spec.steps[number].kind
    return f"step {number + 1} ({kind}) of {spec.name}: {found['field']}"


def reason(spark: SparkSession, sql: SqlText, columns: Collection[str] = ()) -> str:
    """Why this text is refused; empty if it is not. `columns`: the record's."""
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - no public way to it
    try:
        tree = parser.parsePlan(sql.text) if sql.query else parser.parseExpression(sql.text)
    except Exception as error:  # noqa: BLE001 - ParseException, whatever PySpark makes of it
        return f"Spark cannot parse it: {str(error).strip().splitlines()[0]}"
    ours = {name.lower() for name in columns}
    found = (
        _call_without_parentheses(node, ours) or _wrong(node, known, sql)
        for node, known in _nodes(tree, frozenset([ROWS]))
    )
    return next(filter(None, found), "")


def _call_without_parentheses(node: Node, columns: set[str]) -> str:
    """Such a name is a function's unless it is a column (LiteralFunctionResolution)."""
    if class_name(node) != "UnresolvedAttribute":
        return ""
    parts = sequence(node.nameParts())
    name = parts[0].lower()
    return "" if len(parts) > 1 or name in columns or name not in BARE else _call([name], BARE, 0)


def _wrong(node: Node, known: Names, sql: SqlText) -> str:
    """What is wrong with one node; empty if nothing is."""
    name = class_name(node)
    if name == "UnresolvedRelation":
        parts = sequence(node.multipartIdentifier())
        given = len(parts) == 1 and parts[0].lower() in known
        return "" if given else f"it reads {'.'.join(parts)}, and not rows"
    if name in CALLS:
        return CALLS[name](node)
    if "UnresolvedIdentifier" in name:
        return "IDENTIFIER makes a name of an expression, which may give any"
    if not sql.query and is_kind(node, "expressions.PlanExpression"):
        return "the field takes an expression over a record's columns, not a query"
    return _wrong_kind(node)


def _wrong_kind(node: Node) -> str:
    if any(is_kind(node, f"plans.logical.{kind}") for kind in ("Command", "ParsedStatement")):
        return "it is a command, and not a query"
    if class_name(node) == "ScriptTransformation":
        return "it runs a command of the operating system"
    if is_kind(node, "plans.logical.LeafNode") and class_name(node) not in LEAVES:
        return f"it has a {class_name(node)}, which may read something else than rows"
    return ""


def _call(parts: list[str], allowed: frozenset[str], arguments: int) -> str:
    name, last = ".".join(parts), parts[-1].lower()
    if last in REFUSED:
        return f"{name} {REFUSED[last]}"
    if len(parts) > 1 or last not in allowed:
        return f"{name} is not a function of Spark's that a spec may call"
    if arguments > MOST_ARGUMENTS.get(last, arguments):
        return f"{name} with options may read files, and no account covers them"
    return ""


CALLS: dict[str, Callable[[Node], str]] = {
    "UnresolvedFunction": lambda node: _call(
        sequence(node.nameParts()), ALLOWED, node.arguments().size()
    ),
    "UnresolvedGenerator": lambda node: _call([node.name().funcName()], ALLOWED, 0),
    "UnresolvedTableValuedFunction": lambda node: _call(sequence(node.name()), ALLOWED_TABLES, 0),
}
"""The kinds of nodes that call a function by its name -> what is wrong with the call."""


def _nodes(node: Node, known: Names) -> Iterator[tuple[Node, Names]]:
    """The node and all below it, plans within expressions and expressions within plans too; each
    with the names of the relations that it may read.
    """
    yield node, known
    if class_name(node) == "UnresolvedWith":
        # A query of a WITH may read those before it; itself only where it may recur.
        for relation in sequence(node.cteRelations()):
            name = frozenset([relation._1().lower()])  # noqa: SLF001 - a tuple of Scala's
            within = known | name if node.allowRecursion() else known
            yield from _nodes(relation._2(), within)  # noqa: SLF001 - as above
            known |= name
        yield from _nodes(node.child(), known)
        return
    for child in below(node):
        yield from _nodes(child, known)
