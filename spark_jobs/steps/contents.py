"""Contents: a number by which two changes are held to be one, or not.

It names what it is made of: each value stands behind its column's name, and a column without a
value leaves no trace. So the numbers in a table stay what they are when the topic gets a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.sql import Column, functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType


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
