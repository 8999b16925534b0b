"""Canonical groups: an Aggregate over all rows at once, in which each group is final."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

from spark_jobs.spec.analysis.rounding import (
    BOUNDED,
    MEANS,
    SPREADS,
    UNBOUNDED,
    counts_records,
    deciding,
)
from spark_jobs.steps.aggregate import grouped
from spark_jobs.steps.catalyst import all_nodes, class_name, sequence
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.spec import Aggregate
    from spark_jobs.steps.canonical.chain import Given

MOVED = own("moved_")
"""Before a measure's name: array of its values with one sum after the other moved, up and down."""
UNIT = "2.2313e-16D"
"""A little more than 2^-52, for the sum of absolutes is rounded too; and of many digits, so that a
sum that is moved by a multiple of it is never just 0, by which an expression may divide.
"""
FAILING = frozenset({"raise_error", "assert_true"})
"""A measure that calls one is not moved: it may fail by that alone."""
NESTED = (ArrayType, MapType, StructType)


class Call(NamedTuple):
    """A call of an aggregate function that adds doubles, in the text of a measure."""

    start: int
    stop: int
    name: str
    """In lower case."""
    argument: str
    condition: str
    """FILTER (WHERE ...), or empty."""


def with_moved(rows: DataFrame, step: Aggregate, groups: StructType) -> Aggregate:
    """The step over these rows, which makes these groups, with one measure MOVED more for each
    whose bound is known.

    Not of nested values, and not where a function of UNBOUNDED is called: there no difference
    counts as equal.
    """
    counted = counts_records(step)
    more = {
        f"{MOVED}{name}": moved
        for name, sql in step.measures.items()
        if not isinstance(groups[name].dataType, NESTED)
        if (moved := _moved(rows, sql, counted=counted))
    }
    return step.model_copy(update={"measures": step.measures | more})


def _moved(rows: DataFrame, sql: str, *, counted: bool) -> str:
    """The SQL of the array; empty where there is nothing to move, or no bound."""
    calls = list(_calls(rows, sql))
    bounds = [_finite(_bound(call, counted=counted)) for call in calls]
    if not calls or not all(bounds):
        return ""
    # A text may end with a comment, up to the end of its line.
    values = [
        f"{sql[: call.start]}({sql[call.start : call.stop]} {sign} {bound}){sql[call.stop :]}\n"
        for call, bound in zip(calls, bounds, strict=True)
        for sign in "+-"
    ]
    return f"array({', '.join(values)})"


def _calls(rows: DataFrame, sql: str) -> Iterator[Call]:
    spark: Any = rows.sparkSession  # Any: the parser is not public
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - as above
    nodes = all_nodes(parser.parseExpression(sql))
    found = [
        (sequence(node.nameParts())[-1].lower(), node)
        for node in nodes
        if class_name(node) == "UnresolvedFunction"
    ]
    if any(name in FAILING for name, _ in found):
        return
    for name, node in found:
        place = _place(node)
        if name in BOUNDED | UNBOUNDED and isinstance(
            _type(rows, sql[place]), DoubleType | FloatType
        ):
            where = _place(node.filter().get()) if node.filter().isDefined() else None
            condition = f" FILTER (WHERE {sql[where]})" if where else ""
            argument = sql[_place(node.arguments().apply(0))]
            yield Call(place.start, place.stop, name, argument, condition)


def _place(node: Any) -> slice:
    """Where the node's text is: Spark's parser counts whole letters, as Python does."""
    origin = node.origin()
    return slice(origin.startIndex().get(), origin.stopIndex().get() + 1)


def _type(rows: DataFrame, sql: str) -> DataType:
    return rows.select(F.expr(sql)).schema[0].dataType


def _finite(bound: str) -> str:
    """0 where it is too large for a double: an expression may fail on what is no number."""
    return bound and f"coalesce(CASE WHEN {bound} < double('infinity') THEN {bound} END, 0D)"


def _bound(call: Call, *, counted: bool) -> str:
    """How far another order of rows may move the call's value; empty if nobody knows."""
    x, where = f"CAST({call.argument}\n AS DOUBLE)", call.condition
    count, total = f"count({x}){where}", f"sum(abs({x})){where}"
    if call.name in UNBOUNDED:
        return ""
    if call.name in SPREADS:
        return _spread_bound(call.name, x, where) if counted else ""
    if call.name in MEANS:  # the sum's, by n; and the division rounds once more
        return f"2 * {UNIT} * {total}" if counted else ""
    bound = f"{UNIT} * {count} * {total}"
    # The least record that there is must make a larger difference.
    least = f"min(nullif(abs({x}), 0D)){where}"
    return bound if counted else f"CASE WHEN 2 * {bound} < {least} THEN {bound} ELSE 0D END"


def _spread_bound(name: str, x: str, where: str) -> str:
    """Of a variance by updating and merging (CentralMomentAgg): its relative error grows with n and
    with how large the values are beside their spread (Chan, Golub and LeVeque 1983).
    """
    count, squares = f"count({x}){where}", f"sum({x} * {x}){where}"
    variance = f"var_pop({x}){where}"
    error = (
        f"(4 * {UNIT} * (sqrt({squares} * {variance} * {count}) + {UNIT} * {count} * {squares}))"
    )
    if name not in {"var_pop", "stddev_pop"}:
        more = f"({count} / nullif({count} - 1D, 0D))"
        variance, error = f"({variance} * {more})", f"({error} * {more})"
    if "var" in name:
        return error
    return f"sqrt({variance} + {error}) - sqrt(greatest({variance} - {error}, 0D))"


def all_at_once(rows: DataFrame, step: Aggregate, given: Given) -> DataFrame:
    """The groups; with the columns of rounding.py if they are the output's rows, and are asked."""
    rows, time = rows.drop(KAFKA), given.event_time
    groups = grouped(rows, step, time)
    if not given.moved or given.at != deciding(given.spec):
        return groups
    return grouped(rows, with_moved(rows, step, groups.schema), time)
