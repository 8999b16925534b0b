"""Change: how the computed rows of the ranges differ from the table's.

A row of an Aggregate is identified by its group. Any other row is what its columns say, and may be
there several times. Whether two values of a measure differ by no more than the order of added
doubles makes, its terms tell (steps/canonical/aggregate.py), never its result: 0.0 and 2.9e-11 are
near where the terms are large, and 1e12 and 1e12 + 1 are not where they are few.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    NumericType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from spark_jobs.repair.compute.pairs import OF_MOVED, comparable, identities, pairs, together
from spark_jobs.spec.analysis.looked_up import kept
from spark_jobs.spec.analysis.rounding import output_key
from spark_jobs.steps.canonical.aggregate import MOVED
from spark_jobs.table.added import is_added
from spark_jobs.values.own_columns import CONTENTS, DELETED_AT, SET_CONTENTS, own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from spark_jobs.spec import Pipeline


_ROW = own("row")
"""What a row becomes."""
UNTOLD = (DELETED_AT, CONTENTS, SET_CONTENTS)
"""Columns that a computation may give another value: a clock's, and numbers of the others."""
_LATE = own("late")


def change(spec: Pipeline, live: DataFrame, computed: DataFrame) -> DataFrame:
    """Each row of the table and of what was computed, paired where they are the same row.

    Columns: before and after struct (the table's columns; null where there is none), and op string:
    added, removed, changed, or null where they are equal, but for the order in which doubles were
    added. Of that the columns MOVED of `computed` tell (steps/canonical/aggregate.py). Null in a
    column that was added later is equal to anything: the row is from before. What rows keep of a
    table beside the stream is not compared.
    """
    left = kept(spec)
    moved = [name for name in computed.columns if name.startswith(MOVED)]
    computed = computed.select(*(_as(field, computed) for field in live.schema), *moved)
    # A group that the table has twice is not one row: its surplus copy is removed.
    paired = pairs(live, computed, identities(live.schema, output_key(spec), left), moved)
    same = _all(_same(field, moved) for field in live.schema if field.name not in {*UNTOLD, *left})
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
    known = {field.name.lower(): field for field in paired.select("before.*").schema}
    kinds = {name: known[name.lower()] for name in late.columns}
    keys = late.select(
        together(
            _comparable(late[f"`{name}`"].cast(field.dataType), field)
            for name, field in kinds.items()
        ).alias(_LATE)
    )
    keys = keys.distinct().withColumn("explained", F.lit(True))
    of = together(_comparable(row[field.name], field) for field in kinds.values())
    found = paired.join(F.broadcast(keys), of.eqNullSafe(F.col(_LATE)), "left_outer")
    told = F.coalesce("explained", F.lit(False)).alias("explained")
    return found.select("before", "after", "op", told)


def rows_after(paired: DataFrame, within: str) -> DataFrame:
    """What the table is to hold where the SQL condition is true.

    A row that is equal, but for the last bits of its doubles, is the table's: a repair changes
    nothing that it need not change.
    """
    row = F.when(F.col("op").isNull(), F.col("before")).otherwise(F.col("after")).alias(_ROW)
    after = paired.where(F.col("after").isNotNull()).select(row)
    return after.select(f"{_ROW}.*").where(within)


def rounded(paired: DataFrame, left: Collection[str]) -> Column:
    """Whether a row counts as equal, and its values are not: the order of added doubles. `left`:
    columns that are not compared.
    """
    before, after = F.col("before"), F.col("after")
    equal = (
        _comparable(before[each.name], each).eqNullSafe(_comparable(after[each.name], each))
        for each in paired.select("before.*").schema
        if not is_added(each) and each.name not in {*UNTOLD, *left}
    )
    return F.col("op").isNull() & ~_all(equal)


def _as(field: StructField, rows: DataFrame) -> Column:
    """Null where the rows have none. In what is nested, Spark casts nothing that may be null to
    what may not.
    """
    value = rows[f"`{field.name}`"] if field.name in rows.columns else F.lit(None)
    kind = field.dataType
    nullable = kind.toNullable() if isinstance(kind, ArrayType | MapType | StructType) else kind
    return value.cast(nullable).alias(field.name)


def _same(field: StructField, moved: Sequence[str]) -> Column:
    before, after = (F.col(side)[field.name] for side in ("before", "after"))
    same = _comparable(before, field).eqNullSafe(_comparable(after, field))
    if is_added(field):
        same = same | before.isNull()
    if (known := f"{MOVED}{field.name}") not in moved:
        return same
    return same | near(before, after, F.col(OF_MOVED)[known], field.dataType)


def _comparable(value: Column, field: StructField) -> Column:
    return comparable(value, field.dataType)


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one & other, conditions)


ULPS = 8.9e-16
"""Four roundings of the result itself, relative: a quotient of sums is rounded too."""
ORDERED = (NumericType, DateType, TimestampType, TimestampNTZType)


def near(before: Column, after: Column, moved: Column, kind: DataType) -> Column:
    """boolean. `moved` array: `after` with one sum after the other moved up and down by its bound.

    Doubles may be off by as much as all the sums together make of them. Another number that is
    computed from sums, such as a rounded amount, lies between what they make of it; any other value
    is one of these.
    """
    if isinstance(kind, DoubleType | FloatType):
        near = F.abs(before - after) <= _most(after, moved)
    elif isinstance(kind, ORDERED):
        near = before.between(
            F.least(after, F.array_min(moved)), F.greatest(after, F.array_max(moved))
        )
    else:
        near = F.array_contains(moved, before)
    return F.coalesce(near, F.lit(False))


def _most(after: Column, moved: Column) -> Column:
    """Null unless it is a number: for Spark nothing is larger than NaN."""
    after, moved = after.cast("double"), moved.cast("array<double>")
    off = F.transform(moved, lambda each: F.abs(each - after))
    # Up and down by turns: of each two the larger counts.
    pairs = F.sequence(F.lit(1), F.size(off), F.lit(2))
    largest = F.transform(
        pairs, lambda at: F.greatest(F.element_at(off, at), F.element_at(off, at + 1))
    )
    total = F.aggregate(largest, F.lit(0.0), lambda sum_, each: sum_ + F.coalesce(each, F.lit(0.0)))
    most = total + F.when(total > 0, ULPS * F.abs(after)).otherwise(0.0)
    return F.when(most < float("inf"), most)
