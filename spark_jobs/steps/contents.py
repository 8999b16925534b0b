"""Contents: a number by which two changes are held to be one, or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.sql import Column, functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from spark_jobs.values.own_columns import DELETED


def contents(fields: Iterable[StructField]) -> Column:
    """bigint: equal in rows with equal values in these columns. 0 in a delete, which has none."""
    parts = [part for each in fields for part in _told(F.col(f"`{each.name}`"), each.dataType)]
    return F.when(~F.col(DELETED), F.xxhash64(F.lit(0), *parts)).otherwise(F.lit(0))


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
