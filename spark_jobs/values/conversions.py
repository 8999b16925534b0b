"""Converts a field's type, a name of values/field_types.py, to the type of Spark, Arrow or the
JSON decoder.

Each function imports its library when it is called: a process that only plans needs neither Spark
nor Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec

from spark_jobs.values.field_types import Value

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def spark_type(name: str) -> DataType:
    """The Spark SQL type."""
    from pyspark.sql import types  # noqa: PLC0415 - see the module's docstring

    return {
        "string": types.StringType(),
        "int": types.IntegerType(),
        "bigint": types.LongType(),
        "double": types.DoubleType(),
        "boolean": types.BooleanType(),
        "timestamp": types.TimestampType(),
        "date": types.DateType(),
    }[name]


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type that Spark exchanges for it."""
    import pyarrow as pa  # noqa: PLC0415 - see the module's docstring

    return {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", "UTC"),
        "date": pa.date32(),
    }[name]


def arrow_array(values: Sequence[Value | None], name: str) -> pa.Array:
    """The values in that type."""
    import pyarrow as pa  # noqa: PLC0415 - see the module's docstring

    if name != "timestamp":
        return pa.array(values, arrow_type(name))
    # Arrow asks every time how far its zone is from UTC: three times as slow as a difference.
    since = [None if at is None else cast("datetime", at) - EPOCH for at in values]
    return pa.array(since, pa.duration("us")).view(arrow_type(name))


def json_type(name: str) -> Any:
    """The annotation for msgspec: a Python type with the range of Spark's type.

    Any: Python has no type for annotations.
    """
    return {
        "string": str,
        "int": _signed(32),
        "bigint": _signed(64),
        "double": float,
        "boolean": bool,
        "timestamp": Annotated[datetime, msgspec.Meta(tz=True)],
        "date": date,
    }[name]


def _signed(bits: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]
