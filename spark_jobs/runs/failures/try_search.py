"""Try search: finds all records on which an expression of the spec fails, in one query, where
record_search.py would need twenty for each.

The expressions come from Spark's plan of the query, each within TryEval, which is null where what
is in it fails. Only of a plan of conditions and selections. What it finds is held against the query
itself: it runs over all other records, and must not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.runs.failures.record_search import Computed, Failing, error_of
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.sql.catalyst import Node, class_name, sequence
from spark_jobs.values.own_columns import own

HOIST: Final = "spark.sql.subexpressionElimination.enabled"
"""Spark computes what two expressions share before both: out of the reach of a TryEval."""
FAILED: Final = own("failed")
"""The column with the number of the first expression that fails on the record."""
PARTITION: Final = own("partition")
OFFSET: Final = own("offset")


EXACT: Final = 100
"""Records whose errors are found out one by one."""


class Place(NamedTuple):
    """A record that fails."""

    partition: int
    offset: int
    expression: int
    """The same for records on which the same expression of the plan fails."""


def all_failing(
    good: DataFrame, computed: Computed, most: int, inputs: Topics
) -> list[Failing] | None:
    """The records of `good` that fail by themselves, in the order of partitions and offsets, up to
    one more than `most`, then without their errors; None if the plan has something else, or what
    was found does not explain it.

    `good` has the column kafka, and is persisted. Of more than EXACT, the errors name the first
    record of the same expression.
    """
    with _each_by_itself(good.sparkSession):
        found = _places(good, computed, most)
    if not found or len(found) > most:
        return None if not found else [Failing(*each[:2], _unsaid()) for each in found]
    first = {place.expression: place for place in reversed(found)}
    errors: dict[Place, DataError] = {}
    for place in found if len(found) <= EXACT else first.values():
        error = error_of(computed(good.where(_at(place))))
        if error is None:
            return None
        errors[place] = error
    if error_of(computed(_without(good, found))) is not None:
        return None
    return [
        Failing(*place[:2], errors.get(place) or _as_at(errors[alike], alike, inputs))
        for place in found
        for alike in [first[place.expression]]
    ]


def _unsaid() -> DataError:
    return DataError("", "", "")


def _as_at(error: DataError, first: Place, inputs: Topics) -> DataError:
    """The error of another record: its message may have the value of the record that it is of."""
    where = f"partition {inputs.shown(first.partition)} offset {first.offset}"
    return error._replace(message=f"as at {where}")


def _at(place: Place) -> Column:
    return (F.col("kafka.partition") == place.partition) & (F.col("kafka.offset") == place.offset)


def _without(good: DataFrame, found: list[Place]) -> DataFrame:
    places = good.sparkSession.createDataFrame(
        [each[:2] for each in found], f"{PARTITION} int, {OFFSET} bigint"
    )
    same = (F.col("kafka.partition") == F.col(PARTITION)) & (F.col("kafka.offset") == F.col(OFFSET))
    return good.join(F.broadcast(places), same, "left_anti")


@contextmanager
def _each_by_itself(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(HOIST)
    spark.conf.set(HOIST, "false")
    try:
        yield
    finally:
        spark.conf.set(HOIST, str(before))


def _places(good: DataFrame, computed: Computed, most: int) -> list[Place]:
    """Up to one more than `most`; none if the plan has something else than Project and Filter."""
    nodes, node = [], computed(good)._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - no public way to it
    while class_name(node) in _TRIED:
        nodes.append(node)
        node = node.children().apply(0)
    if node.children().size() or class_name(node) != "InMemoryRelation":
        return []
    rows = _frame(good.sparkSession, node).withColumn(FAILED, F.lit(None).cast("int"))
    for number, each in enumerate(reversed(nodes)):
        rows = _TRIED[class_name(each)](rows, each, number * MOST_COLUMNS)
    failed = rows.where(F.col(FAILED).isNotNull()).select("kafka.partition", "kafka.offset", FAILED)
    return sorted(Place(*row) for row in failed.limit(most + 1).collect())


MOST_COLUMNS: Final = 100_000


def _filter(rows: DataFrame, node: Node, number: int) -> DataFrame:
    tried = _tried(rows.sparkSession, node.condition())
    held = _column(rows.sparkSession, tried)
    failed = F.coalesce(F.col(FAILED), F.when(held.isNull(), number))
    return rows.withColumn(FAILED, failed).where(
        F.col(FAILED).isNotNull() | F.coalesce(held.getField("v"), F.lit(False))
    )


def _project(rows: DataFrame, node: Node, number: int) -> DataFrame:
    spark, failed, columns = rows.sparkSession, [F.col(FAILED)], []
    for at, each in enumerate(sequence(node.projectList())):
        if class_name(each) == "AttributeReference":
            columns.append(_column(spark, each))
            continue
        tried = _tried(spark, each.child())
        failed.append(F.when(_column(spark, tried).isNull(), number + at))
        # With the same id as before: what follows in the plan refers to it.
        value = _expressions(spark).GetStructField(tried, 0, _jvm(spark).scala.Option.empty())
        columns.append(_column(spark, each.withNewChildren(_sequence(spark, [value]))))
    names = [each.name() for each in sequence(node.projectList())]
    kafka = [] if "kafka" in names else [F.col("kafka")]
    return rows.select(*columns, *kafka, F.coalesce(*failed).alias(FAILED))


_TRIED: Final[dict[str, Callable[[DataFrame, Node, int], DataFrame]]] = {
    "Filter": _filter,
    "Project": _project,
}


def _tried(spark: SparkSession, expression: Node) -> Node:
    """struct<v> of the expression's value; null where it fails."""
    expressions = _expressions(spark)
    utilities = _jvm(spark).org.apache.spark.sql.classic.ExpressionUtils
    name = utilities.expression(F.lit("v")._jc)  # noqa: SLF001 - as above
    struct = expressions.CreateNamedStruct(_sequence(spark, [name, expression]))
    return expressions.TryEval(struct)


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - no public way to Catalyst


def _expressions(spark: SparkSession) -> Any:
    return _jvm(spark).org.apache.spark.sql.catalyst.expressions


def _sequence(spark: SparkSession, items: list[Node]) -> Node:
    return _jvm(spark).PythonUtils.toSeq(items)


def _column(spark: SparkSession, expression: Node) -> Column:
    from pyspark.sql.classic.column import Column as Classic  # noqa: PLC0415 - only where a query failed

    utilities = _jvm(spark).org.apache.spark.sql.classic.ExpressionUtils
    return Classic(utilities.column(expression))


def _frame(spark: SparkSession, plan: Node) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame as Classic  # noqa: PLC0415 - as above

    datasets = _jvm(spark).org.apache.spark.sql.classic.Dataset
    return Classic(datasets.ofRows(spark._jsparkSession, plan), spark)  # noqa: SLF001 - as above
