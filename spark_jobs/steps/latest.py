"""Latest in Spark: gives each change what its place among the changes of its key depends on. Which
of them the table gets is decided behind the query (keyed/merge.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Latest, Pipeline
from spark_jobs.spec.steps.following import COMPARABLE, Following
from spark_jobs.steps.operator import At, StepContext
from spark_jobs.values.own_columns import (
    AT_ELEMENT,
    CONTENTS,
    DELETED,
    DELETED_AT,
    ELEMENT,
    KAFKA,
    OFFSET,
    PARTITION,
    SET,
    SET_CONTENTS,
)


def contents(rows: Iterable[tuple[StructField, Column]]) -> Column:
    """bigint: equal in rows with equal values in these columns, in whatever order they are given.
    Of each its field, and its value in the row.
    """
    parts = []
    for field, value in sorted(rows, key=lambda each: each[0].name):
        said = value.isNotNull()
        parts += [F.when(said, part) for part in (F.lit(field.name), *_told(value, field.dataType))]
    return F.xxhash64(F.lit(0), *parts)


def _told(value: Column, kind: DataType) -> Iterator[Column]:
    """The value, and of what it is made. Spark's hash passes nulls over, at any depth, and does not
    say where an array ends; and it takes no map, whose keys may stand in any order.
    """
    if isinstance(kind, StructType):
        yield value.isNull()
        for field in kind:
            yield from _told(value[field.name], field.dataType)
    elif isinstance(kind, ArrayType):
        yield F.coalesce(F.size(value), F.lit(-1))
        yield F.transform(value, lambda each: F.struct(*_told(each, kind.elementType)))
    elif isinstance(kind, MapType):
        keys = F.array_sort(F.map_keys(value))
        yield from _told(keys, ArrayType(kind.keyType))
        values = F.transform(keys, lambda key: F.element_at(value, key))
        yield from _told(values, ArrayType(kind.valueType))
    else:
        yield from (value, value.isNull())


PLACEHOLDER: Final = "__debezium_unavailable_value"
"""What Debezium sends in the place of a long value that did not change (PostgreSQL's TOAST)."""


class LatestOperator(NamedTuple):
    """It keeps no state in Spark."""

    step: Latest

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """See the function `marked`. With SET_CONTENTS, if the step keeps what a change does not
        say.
        """
        rows = marked(rows, self.step, context.spec, context.step_index)
        if self.step.highest_decides:
            return rows
        unsaid = F.lit(None).cast("map<string,bigint>").alias(SET_CONTENTS)
        *others, deleted = rows.columns
        return rows.select(*map(_quoted, others), unsaid, deleted)

    def counts(self) -> list[Column]:
        return []

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        return marked(rows, self.step, at.spec, at.step_index)


def marked(
    rows: DataFrame, step: Following, spec: Pipeline, index: int, since: Column | None = None
) -> DataFrame:
    """The rows without `kafka`, and with the columns OF_A_KEY; with SET if the step keeps what a
    change does not say. Of a delete, all is null but the columns that are compared. `since`:
    DELETED_AT, over the rows; default, when the batch was planned.

    The query fails on a row with a null in one of these, and on Debezium's PLACEHOLDER where no
    spec says what it is: so its record is looked for and is malformed. Raises SpecInvalid for a
    column of theirs that Spark and Delta may compare differently.
    """
    columns = {field.name: field for field in rows.schema if field.name != KAFKA}
    what = f"step {index + 1} ({step.kind})"
    _refuse(columns, step.placed, f"{what} of {spec.name}")
    deletes = F.expr(step.deletes) if step.deletes else F.lit(False)
    rows = _without_nulls(rows, step.placed, what)
    rows = rows.withColumn(DELETED, F.coalesce(deletes, F.lit(False)))
    if spec.inputs[0].envelope == "debezium":
        rows = _without_placeholders(rows, step, columns, what)
    at = (*step.keys, *step.order_by)
    has = {name: _quoted(name) if name in step.placed else _of_a_row(name) for name in columns}
    return rows.select(
        *has.values(),
        F.when(F.col(DELETED), F.current_timestamp() if since is None else since).alias(DELETED_AT),
        F.col(f"{KAFKA}.partition").alias(PARTITION),
        F.col(f"{KAFKA}.offset").alias(OFFSET),
        *_element(rows),
        contents((columns[name], has[name]) for name in columns if name not in at).alias(CONTENTS),
        *([] if step.highest_decides else [_set(rows, step, [n for n in columns if n not in at])]),
        F.col(DELETED),
    )


def _element(rows: DataFrame) -> list[Column]:
    """AT_ELEMENT, where a value has many records."""
    there = ELEMENT in rows.select(f"{KAFKA}.*").columns
    return [F.col(f"{KAFKA}.{ELEMENT}").alias(AT_ELEMENT)] if there else []


def _set(rows: DataFrame, step: Following, fields: list[str]) -> Column:
    """SET: the fields that a change says, each with its position; null of a delete."""
    of_kafka = F.col(f"{KAFKA}.offset").alias(OFFSET), F.col(f"{KAFKA}.partition").alias(PARTITION)
    position = F.struct(*map(_quoted, step.order_by), *of_kafka, *_element(rows))
    entry = {name: F.struct(F.lit(name), position) for name in fields}
    said = F.array(*(F.when(~_lacks(step, name), entry[name]) for name in fields))
    return F.when(~F.col(DELETED), F.map_from_entries(F.array_compact(said))).alias(SET)


def _lacks(step: Following, name: str) -> Column:
    if step.missing == "keep":
        return _quoted(name).isNull()
    conditions = {} if step.missing == "null" else step.missing
    return F.coalesce(F.expr(conditions.get(name, "false")), F.lit(False))


def _refuse(columns: dict[str, StructField], placed: tuple[str, ...], what: str) -> None:
    for name in placed:
        if name not in columns:
            raise SpecInvalid.no_such_key(what=what, name=name, columns=", ".join(columns))
        kind = columns[name].dataType.simpleString()
        if not COMPARABLE.fullmatch(kind):
            raise SpecInvalid.incomparable(what=what, name=name, kind=kind)


def _without_nulls(rows: DataFrame, placed: tuple[str, ...], what: str) -> DataFrame:
    """The same rows; the query fails on one with a null in one of these columns."""
    passes = F.lit(True)
    for name in reversed(placed):
        text = f"{what}: {name} is null, which has no place among the changes"
        fails = F.raise_error(F.lit(text)).cast("boolean")
        passes = F.when(_quoted(name).isNull(), fails).otherwise(passes)
    return rows.where(passes)


def _without_placeholders(
    rows: DataFrame, step: Following, columns: dict[str, StructField], what: str
) -> DataFrame:
    """The same rows; the query fails on one that says the placeholder as a value."""
    of = {"string": PLACEHOLDER, "binary": PLACEHOLDER.encode(), "array<string>": [PLACEHOLDER]}
    passes = F.lit(True)
    for name, field in columns.items():
        if (value := of.get(field.dataType.simpleString())) is None:
            continue
        text = (
            f"{what}: {name} is {PLACEHOLDER!r}, by which Debezium says that it does not send it: "
            "say so in `missing`, or make it null by a Transform"
        )
        said = F.lit(True) if name in step.placed else ~(F.col(DELETED) | _lacks(step, name))
        fails = F.raise_error(F.lit(text)).cast("boolean")
        passes = F.when(said & (_quoted(name) == F.lit(value)), fails).otherwise(passes)
    return rows.where(passes)


def _of_a_row(name: str) -> Column:
    """The column, null in a delete."""
    return F.when(~F.col(DELETED), _quoted(name)).alias(name)


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
