"""What a field's type is in Spark, in Arrow and for the JSON decoder: each a name of contract/field_types.py.

Spark and Arrow are loaded when they are asked for: a driver that only plans needs neither.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType


def spark_type(name: str) -> DataType:
    """Spark's type."""
    from pyspark.sql import types  # noqa: PLC0415 - as said above

    return {
        "string": types.StringType(), "int": types.IntegerType(), "bigint": types.LongType(), "double": types.DoubleType(),
        "boolean": types.BooleanType(), "timestamp": types.TimestampType(), "date": types.DateType(),
    }[name]


def arrow_type(name: str) -> pa.DataType:
    """Arrow's type, as Spark exchanges it."""
    import pyarrow as pa  # noqa: PLC0415 - as said above

    return {
        "string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(),
        "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC"), "date": pa.date32(),
    }[name]


def json_type(name: str) -> Any:
    """What msgspec decodes a JSON value to: a Python type, with the bounds of Spark's. Any: annotations have no other type."""
    return {
        "string": str, "int": _signed(32), "bigint": _signed(64), "double": float,
        "boolean": bool, "timestamp": Annotated[datetime, msgspec.Meta(tz=True)], "date": date,
    }[name]


def _signed(bits: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]
