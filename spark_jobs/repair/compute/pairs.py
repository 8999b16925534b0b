"""Pairs: the rows of a table and of what was computed, each with the one that is the same row."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Window, functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from spark_jobs.table.added import added_in
from spark_jobs.values.own_columns import own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pyspark.sql.types import StructType
    from pyspark.sql.window import WindowSpec


OF_MOVED: Final = own("moved")
"""A computed row's columns MOVED, in its pair."""
_ROW, _LIVE = own("row"), own("live")
"""A row's columns; whether it is the table's."""
_COPY, _ORDER, _FREE = own("copy"), own("order"), own("free")
"""Numbers the rows of one identity; their order; whether no pair was found yet."""
_FOUND, _KEY, _PAIR = own("found"), own("key"), own("pair")
"""By which identity a pair is found; what both of it have; that, and its number."""


def identities(
    columns: StructType, key: Sequence[str] | None, left: Collection[str] = ()
) -> list[tuple[str, ...]]:
    """The columns by which rows are the same, in the order in which pairs are looked for; without
    those `left` out.

    First all. What an added column says is not known of a row from before it.
    """
    if key:
        return [(*key,)]
    versions = sorted({added_in(each) for each in columns}, reverse=True)
    return [
        tuple(each.name for each in columns if added_in(each) <= version and each.name not in left)
        for version in versions
    ]


def pairs(
    live: DataFrame, computed: DataFrame, by: Sequence[Sequence[str]], moved: Sequence[str]
) -> DataFrame:
    """Columns: before and after struct (the columns of `live`), null where there is none; and of
    `computed` OF_MOVED, a struct of those `moved`, if there are any.
    """
    columns = live.schema
    both = _side(live, columns, by).unionByName(
        _side(computed, columns, by, moved), allowMissingColumns=True
    )
    return (
        _numbered(both, len(by))
        .groupBy(_PAIR)
        .agg(
            F.first(F.when(F.col(_LIVE), F.col(_ROW)), ignorenulls=True).alias("before"),
            F.first(F.when(~F.col(_LIVE), F.col(_ROW)), ignorenulls=True).alias("after"),
            *([F.first(OF_MOVED, ignorenulls=True).alias(OF_MOVED)] if moved else []),
        )
    )


def _side(
    rows: DataFrame,
    columns: StructType,
    by: Sequence[Sequence[str]],
    moved: Sequence[str] | None = None,
) -> DataFrame:
    """The rows as _ROW, _LIVE and, if there is any, OF_MOVED, and what identifies them. `moved`: of
    the computed ones.
    """
    values = {each.name: comparable(F.col(f"`{each.name}`"), each.dataType) for each in columns}
    nulls = {name: value.isNull() for name, value in values.items()}
    return rows.select(
        F.struct(*(F.col(f"`{each}`") for each in columns.names)).alias(_ROW),
        F.lit(moved is None).alias(_LIVE),
        together(values.values()).alias(_ORDER),
        *(
            together(values[each] for each in names).alias(_key(number))
            for number, names in enumerate(by)
        ),
        *(
            reduce(
                and_,
                (nulls[name] for name in nulls if moved is None and name not in names),
                F.lit(True),
            ).alias(_may(number))
            for number, names in enumerate(by[:-1])
        ),
        *([F.struct(*moved).alias(OF_MOVED)] if moved else []),
    )


def _numbered(both: DataFrame, identities: int) -> DataFrame:
    """With struct _PAIR, the same for two rows that are one: what identifies them, by which of the
    identities, and their number among those with the same.
    """
    found, last = both.withColumn(_FOUND, F.lit(identities - 1)), identities - 1
    for number in range(last):
        free = (F.col(_FOUND) == last) & F.col(_may(number))
        rows = found.withColumn(_FREE, free)
        of = (_key(number), _FREE)
        rows = rows.withColumn(_COPY, F.row_number().over(_equal(*of, _LIVE)))
        both_have = F.count(F.lit(1)).over(Window.partitionBy(*of, _COPY)) > 1
        now = F.when(F.col(_FREE) & both_have, number).otherwise(F.col(_FOUND))
        found = rows.withColumn(_FOUND, now)
    keys = (F.when(F.col(_FOUND) == each, F.col(_key(each))) for each in range(identities))
    named = found.withColumn(_KEY, together((F.col(_FOUND), *keys)))
    copy = F.row_number().over(_equal(_KEY, _LIVE))
    return named.withColumn(_PAIR, F.struct(F.col(_KEY).alias("key"), copy.alias("copy")))


def _equal(*of: str) -> WindowSpec:
    return Window.partitionBy(*of).orderBy(_ORDER)


def _key(number: int) -> str:
    return own(f"key_{number}")


def _may(number: int) -> str:
    return own(f"may_{number}")


def together(values: Iterable[Column]) -> Column:
    """One value to pair by: by each of many columns, Spark plans for minutes."""
    return F.struct(*(value.alias(f"k{n}") for n, value in enumerate(values)))


def comparable(value: Column, kind: DataType) -> Column:
    """The same for two values if and only if they are equal: a map becomes the array of its entries
    by key, also within arrays and structs; a variant its JSON.
    """
    if not _refused(kind):
        return value
    match kind:
        case MapType():
            entries = F.transform(
                F.map_entries(value),
                lambda one: F.struct(
                    one["key"].alias("key"),
                    comparable(one["value"], kind.valueType).alias("value"),
                ),
            )
            return F.array_sort(entries)
        case ArrayType():
            return F.transform(value, lambda one: comparable(one, kind.elementType))
        case StructType():
            parts = (
                comparable(value[field.name], field.dataType).alias(field.name) for field in kind
            )
            return F.when(value.isNotNull(), F.struct(*parts))
        case _:
            return F.to_json(value)


def _refused(kind: DataType) -> bool:
    match kind:
        case MapType() | VariantType():
            return True
        case ArrayType():
            return _refused(kind.elementType)
        case StructType():
            return any(_refused(field.dataType) for field in kind)
        case _:
            return False
