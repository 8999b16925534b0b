"""Latest in Spark: gives each change what its place among the changes of its key depends on. Which
of them the table gets is decided behind the query (sink/keyed/).
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import StructField

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Latest, Pipeline
from spark_jobs.spec.steps.following import COMPARABLE, Following
from spark_jobs.steps.contents import contents
from spark_jobs.steps.operator import StepContext
from spark_jobs.values.own_columns import (
    CONTENTS,
    DELETED,
    DELETED_AT,
    KAFKA,
    OFFSET,
    PARTITION,
    SET,
    SET_CONTENTS,
    placed,
)


class LatestOperator(NamedTuple):
    """It keeps no state in Spark."""

    step: Latest

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """See the function `marked`. With the columns of SET, if the step keeps what a change does
        not say.
        """
        rows = marked(rows, self.step, context.spec, context.step_index)
        if self.step.missing == "null":
            return rows
        position = F.struct(*(_quoted(name) for name in placed(self.step.order_by)))
        unset = F.map_from_arrays(F.array(F.lit("")), F.array(position))  # for its type
        unset = F.when(F.lit(False), unset).alias(SET)
        unsaid = F.lit(None).cast("map<string,bigint>").alias(SET_CONTENTS)
        *others, deleted = rows.columns
        return rows.select(*map(_quoted, others), unset, unsaid, deleted)

    def counts(self) -> list[Column]:
        return []

    def row_part(self, rows: DataFrame, spec: Pipeline, index: int, _: str) -> DataFrame:
        return marked(rows, self.step, spec, index)


def marked(
    rows: DataFrame, step: Following, spec: Pipeline, index: int, since: Column | None = None
) -> DataFrame:
    """The rows without `kafka`, and with the columns OF_A_KEY. Of a delete, all is null but the
    columns that are compared. `since`: DELETED_AT, over the rows; default, when the batch was
    planned.

    The query fails on a row with a null in one of these, so its record is looked for and is
    malformed. Raises SpecInvalid for a column of theirs that Spark and Delta may compare
    differently.
    """
    columns = {field.name: field for field in rows.schema if field.name != KAFKA}
    what = f"step {index + 1} ({step.kind})"
    _refuse(columns, step.placed, f"{what} of {spec.name}")
    deletes = F.expr(step.deletes) if step.deletes else F.lit(False)
    rows = _without_nulls(rows, step.placed, what)
    rows = rows.withColumn(DELETED, F.coalesce(deletes, F.lit(False)))
    at = (*step.keys, *step.order_by)
    has = {name: _quoted(name) if name in step.placed else _of_a_row(name) for name in columns}
    return rows.select(
        *has.values(),
        F.when(F.col(DELETED), F.current_timestamp() if since is None else since).alias(DELETED_AT),
        F.col(f"{KAFKA}.partition").alias(PARTITION),
        F.col(f"{KAFKA}.offset").alias(OFFSET),
        contents((columns[name], has[name]) for name in columns if name not in at).alias(CONTENTS),
        F.col(DELETED),
    )


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


def _of_a_row(name: str) -> Column:
    """The column, null in a delete."""
    return F.when(~F.col(DELETED), _quoted(name)).alias(name)


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
