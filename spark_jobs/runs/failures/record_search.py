"""Record search: finds the records on which an expression of the spec fails.

Spark does not say which record it was. So the part of the query that sees one record at a time
(steps/chain.py row_part) is run over halves of the records, until single ones are left.

One query finds them all where its plan has conditions and selections alone: each expression is
within TryEval, which is null where what is in it fails. What it finds is held against the query
itself: it runs over all other records, and must not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.place_columns import columns
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.catalyst import Node, class_name, sequence
from spark_jobs.values.own_columns import own

Computed = Callable[[DataFrame], DataFrame]
"""Good records -> what the query computes of each by itself."""


class Failing(NamedTuple):
    """A record that fails by itself."""

    place: Place
    error: DataError


def error_of(rows: DataFrame) -> DataError | None:
    """What fails when the rows are computed; None if nothing does."""
    try:
        rows.write.format("noop").mode("append").save()
    except (PySparkException, Py4JJavaError) as error:
        if (found := DataError.of(str(error))) is None:
            raise
        return found
    return None


def failing(part: Batch, good: DataFrame, computed: Computed) -> Iterator[Failing]:
    """Those at the offsets of the part, by place, each when it is asked
    for. `good` has the column kafka, and is read for each half: the caller persists it."""
    search = _Search(part, good, computed)
    return search.look(0, part.covered, search.error(0, part.covered))


class _Search:
    """The search in one part of a batch: by numbers of its offsets, partition by partition. Then by
    the elements of a value that has many.
    """

    def __init__(self, part: Batch, good: DataFrame, computed: Computed) -> None:
        self._part = part
        self._good = good
        self._computed = computed

    def look(self, start: int, end: int, error: DataError | None) -> Iterator[Failing]:
        """The failing records between two offsets, where it is known whether there are any."""
        if error is None or start == end:
            return
        if end - start == 1:
            rows = self._good.where(self._within(start, end)).select(*columns(self._good))
            yield from self._among(sorted(Place(*row) for row in rows.collect()), error)
            return
        middle = (start + end) // 2
        first = self.error(start, middle)
        yield from self.look(start, middle, first)
        # If the first half does not fail, the second one does.
        second = self.error(middle, end) if first or end - middle == 1 else error
        yield from self.look(middle, end, second)

    def _among(self, places: Sequence[Place], error: DataError | None) -> Iterator[Failing]:
        if error is None or not places:
            return
        if len(places) == 1:
            yield Failing(places[0], error)
            return
        middle = len(places) // 2
        for some in (places[:middle], places[middle:]):
            found = self._good.where(_at(some[0]) if len(some) == 1 else _between(some))
            yield from self._among(some, error_of(self._computed(found)))

    def error(self, start: int, end: int) -> DataError | None:
        """What fails on the records between two offsets; None if nothing does."""
        return error_of(self._computed(self._good.where(self._within(start, end))))

    def _within(self, start: int, end: int) -> Column:
        """boolean over the good records."""
        within = F.lit(False)
        for partition, first, last in spans(self._part, start, end):
            offsets = F.col("kafka.offset").between(first, last)
            within = within | ((F.col("kafka.partition") == partition) & offsets)
        return within


def spans(part: Batch, start: int, end: int) -> list[tuple[int, int, int]]:
    """Partition, first and last offset of each partition that is between two places."""
    found, at = [], 0
    for partition, [(begin, stop)] in sorted(part.parts.items()):
        first, last = begin + max(start - at, 0), min(begin + end - at, stop) - 1
        if first <= last:
            found.append((partition, first, last))
        at += stop - begin
    return found


HOIST: Final = "spark.sql.subexpressionElimination.enabled"
"""Spark computes what two expressions share before both: out of the reach of a TryEval."""
FAILED: Final = own("failed")
"""The column with the number of the first expression that fails on the record."""


EXACT: Final = 100
"""Records whose errors are found out one by one."""


class Found(NamedTuple):
    """A record that fails."""

    place: Place
    expression: int
    """The same for records on which the same expression of the plan fails."""


def all_failing(
    good: DataFrame, computed: Computed, most: int, inputs: Topics
) -> list[Failing] | None:
    """The records of `good` that fail by themselves, by place, up to one more than
    `most`, then without their errors; None if the plan has something else, or what
    was found does not explain it.

    `good` has the column kafka, and is persisted. Of more than EXACT, the errors name the first
    record of the same expression.
    """
    with _each_by_itself(good.sparkSession):
        found = _places(good, computed, most)
    if not found or len(found) > most:
        return None if not found else [Failing(each.place, DataError("", "", "")) for each in found]
    first = {each.expression: each for each in reversed(found)}
    errors: dict[Found, DataError] = {}
    for each in found if len(found) <= EXACT else first.values():
        error = error_of(computed(good.where(_at(each.place))))
        if error is None:
            return None
        errors[each] = error
    if error_of(computed(_without(good, found))) is not None:
        return None
    return [
        Failing(each.place, errors.get(each) or _as_at(errors[alike], alike.place, inputs))
        for each in found
        for alike in [first[each.expression]]
    ]


def _as_at(error: DataError, first: Place, inputs: Topics) -> DataError:
    """The error of another record: its message may have the value of the record that it is of."""
    return error._replace(message=f"as at {first.told(inputs.shown)}")


def _at(place: Place) -> Column:
    value = (F.col("kafka.partition") == place.partition) & (F.col("kafka.offset") == place.offset)
    return value if place.number is None else value & (F.col("kafka.element") == place.element)


def _between(places: Sequence[Place]) -> Column:
    """Of some elements of one value, ascending: none of the others between them is good."""
    first, last = places[0], places[-1]
    within = F.col("kafka.element").between(first.element, last.element)
    return _at(first.value) & within


def _without(good: DataFrame, found: list[Found]) -> DataFrame:
    names = [own(name) for name in PLACE]
    kinds = zip(names, ("int", "bigint", "int"), strict=True)
    schema = ", ".join(f"{name} {kind}" for name, kind in kinds)
    places = good.sparkSession.createDataFrame([each.place for each in found], schema)
    pairs = zip(columns(good), names, strict=True)
    same = reduce(and_, (of_record == F.col(name) for of_record, name in pairs))
    return good.join(F.broadcast(places), same, "left_anti")


@contextmanager
def _each_by_itself(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(HOIST)
    spark.conf.set(HOIST, "false")
    try:
        yield
    finally:
        spark.conf.set(HOIST, str(before))


def _places(good: DataFrame, computed: Computed, most: int) -> list[Found]:
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
    failed = rows.where(F.col(FAILED).isNotNull()).select(*columns(rows), FAILED)
    rows_of = failed.limit(most + 1).collect()
    return sorted(Found(Place(*at), expression) for *at, expression in rows_of)


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
