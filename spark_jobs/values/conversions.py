"""Converts a field's type, as values/type_tree.py has it, to the type of Spark or Arrow.

Each function imports its library when it is called: a process that only plans needs neither Spark
nor Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.values.type_tree import Array, Decimal, Map, Scalar, Struct, Type, parsed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOCAL_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a time without a zone


def spark_type(name: str) -> DataType:
    """The Spark SQL type."""
    return _spark(parsed(name))


def _spark(tree: Type) -> DataType:
    from pyspark.sql import types  # noqa: PLC0415 - see the module's docstring

    match tree:
        case Decimal(precision, scale):
            return types.DecimalType(precision, scale)
        case Array(element):
            return types.ArrayType(_spark(element))
        case Map(value):
            return types.MapType(types.StringType(), _spark(value))
        case Struct(members):
            return types.StructType([types.StructField(name, _spark(of)) for name, of in members])
        case Scalar(name):
            return {
                "string": types.StringType(),
                "smallint": types.ShortType(),
                "int": types.IntegerType(),
                "bigint": types.LongType(),
                "float": types.FloatType(),
                "double": types.DoubleType(),
                "boolean": types.BooleanType(),
                "binary": types.BinaryType(),
                "timestamp": types.TimestampType(),
                "timestamp_ntz": types.TimestampNTZType(),
                "date": types.DateType(),
            }[name]


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type that Spark exchanges for it."""
    return _arrow(parsed(name))


def _arrow(tree: Type) -> pa.DataType:
    import pyarrow as pa  # noqa: PLC0415 - see the module's docstring

    match tree:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(pa.field("element", _arrow(element)))
        case Map(value):
            return pa.map_(pa.string(), _arrow(value))
        case Struct(members):
            return pa.struct([pa.field(name, _arrow(of)) for name, of in members])
        case Scalar(name):
            return {
                "string": pa.string(),
                "smallint": pa.int16(),
                "int": pa.int32(),
                "bigint": pa.int64(),
                "float": pa.float32(),
                "double": pa.float64(),
                "boolean": pa.bool_(),
                "binary": pa.binary(),
                "timestamp": pa.timestamp("us", "UTC"),
                "timestamp_ntz": pa.timestamp("us"),
                "date": pa.date32(),
            }[name]


def arrow_array(values: Sequence[Any], name: str) -> pa.Array:
    """The values in that type. Any: they may have parts."""
    import pyarrow as pa  # noqa: PLC0415 - see the module's docstring

    if not name.startswith("timestamp"):
        return pa.array(values, arrow_type(name))
    # Arrow asks every time how far its zone is from UTC: three times as slow as a difference.
    epoch = EPOCH if name == "timestamp" else LOCAL_EPOCH
    since = [None if at is None else at - epoch for at in values]
    return pa.array(since, pa.duration("us")).view(arrow_type(name))
