"""Change: how the computed rows of the ranges differ from the table's.

A row of an Aggregate is identified by its group. Any other row is what its columns say, and may be
there several times.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window, functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType

from spark_jobs.contract.steps import Aggregate, Transform

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spark_jobs.contract.spec import Pipeline

TOLERANCE = 1e-9
"""Relative: the same doubles added in another order differ by less."""
COPY = "_copy"
"""Numbers the rows of one identity."""


def change(spec: Pipeline, live: DataFrame, computed: DataFrame) -> DataFrame:
    """Each row of the table and of what was computed, paired where they are the same row.

    Columns: before and after struct (the table's columns; null where there is none), and op string:
    added, removed, changed, or null where they are equal.
    """
    columns = live.columns
    computed = computed.select(
        *(
            (F.col(field.name) if field.name in computed.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in live.schema
        )
    )
    # A group that the table has twice is not one row: its surplus copy is removed.
    of = identity(spec) or tuple(columns)
    live, computed = _numbered(live, of), _numbered(computed, of)
    on = (*of, COPY)
    paired = _side(live, columns, on, "before").join(
        _side(computed, columns, on, "after"),
        _all(F.col(f"before_{n}").eqNullSafe(F.col(f"after_{n}")) for n in range(len(on))),
        "full_outer",
    )
    same = _all(
        _equal(F.col("before")[field.name], F.col("after")[field.name], field.dataType)
        for field in live.schema
        if field.name in columns
    )
    op = (
        F.when(F.col("before").isNull(), "added")
        .when(F.col("after").isNull(), "removed")
        .when(~same, "changed")
    )
    return paired.select("before", "after", op.alias("op"))


def explained(paired: DataFrame, late: DataFrame | None) -> DataFrame:
    """The same rows, with explained boolean: whether the row is of a group or key of the late
    records. `late` has the columns that tell, each with a column of the table's name.
    """
    if late is None:
        return paired.withColumn("explained", F.lit(False))
    row = F.coalesce("after", "before")
    names = late.columns
    keys = late.distinct().select(*(F.col(name).alias(f"late_{name}") for name in names))
    keys = keys.withColumn("explained", F.lit(True))
    found = paired.join(
        F.broadcast(keys),
        _all(row[name].eqNullSafe(F.col(f"late_{name}")) for name in names),
        "left_outer",
    )
    told = F.coalesce("explained", F.lit(False)).alias("explained")
    return found.select("before", "after", "op", told)


def rows_after(paired: DataFrame, within: str) -> DataFrame:
    """What the table is to hold where the SQL condition is true.

    A row that is equal, but for the last bits of its doubles, is the table's: a repair changes
    nothing that it need not change.
    """
    row = F.when(F.col("op").isNull(), F.col("before")).otherwise(F.col("after")).alias("row")
    return paired.where(F.col("after").isNotNull()).select(row).select("row.*").where(within)


def identity(spec: Pipeline) -> tuple[str, ...] | None:
    """The columns that identify an output row; None if a row is what all its columns say."""
    for step in reversed(spec.steps):
        if isinstance(step, Aggregate):
            return step.group
        if not (isinstance(step, Transform) and step.where):
            return None
    return None


def _side(rows: DataFrame, columns: Sequence[str], on: Sequence[str], name: str) -> DataFrame:
    keys = (F.col(f"`{column}`").alias(f"{name}_{n}") for n, column in enumerate(on))
    return rows.select(F.struct(*columns).alias(name), *keys)


def _numbered(rows: DataFrame, identity: Sequence[str]) -> DataFrame:
    equal = Window.partitionBy(*identity).orderBy(*rows.columns)
    return rows.withColumn(COPY, F.row_number().over(equal))


def _equal(before: Column, after: Column, kind: DataType) -> Column:
    same = before.eqNullSafe(after)
    if not isinstance(kind, DoubleType | FloatType):
        return same
    near = F.abs(before - after) <= TOLERANCE * F.greatest(F.abs(before), F.abs(after))
    return same | F.coalesce(near, F.lit(False))


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one & other, conditions)
