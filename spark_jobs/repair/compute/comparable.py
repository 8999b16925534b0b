"""Comparable: a value in a form by which Spark can group, sort and join.

Spark refuses a map, which has no order, and a variant.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType


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
