"""What a declared type is in Spark and in Arrow. Loads neither until it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType


def spark_type(name: str) -> DataType:
    """Spark's type for a field's type."""
    from pyspark.sql import types  # noqa: PLC0415 - as said above

    return {
        "string": types.StringType(), "int": types.IntegerType(), "bigint": types.LongType(), "double": types.DoubleType(),
        "boolean": types.BooleanType(), "timestamp": types.TimestampType(), "date": types.DateType(),
    }[name]


def arrow_type(name: str) -> pa.DataType:
    """Arrow's type for a field's type, as Spark exchanges it."""
    import pyarrow as pa  # noqa: PLC0415 - as said above

    return {
        "string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(),
        "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC"), "date": pa.date32(),
    }[name]
