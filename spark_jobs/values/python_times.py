"""Python times: the rows of Arrow as Python has them, also those with times that Python has not:
text (times.py).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, functions as F, types

from spark_jobs.values.field_types import Value
from spark_jobs.values.times import EPOCH, date_of, time_of

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """As Arrow's to_pylist, which fails on a time that Python has not."""
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values of one column."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]
    return values


def _value(scalar: Any) -> Any:
    # Any: Arrow's scalars have no types.
    import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table

    types, kind = pa.types, scalar.type
    found: Any
    if not scalar.is_valid:
        found = None
    elif types.is_timestamp(kind):
        found = time_of(scalar.cast(pa.timestamp("us", kind.tz)).value)
    elif types.is_date32(kind):
        found = date_of(scalar.value)
    elif types.is_struct(kind):
        found = {field.name: _value(scalar[field.name]) for field in kind}
    elif types.is_map(kind):
        found = [(_value(each["key"]), _value(each["value"])) for each in scalar.values]
    elif types.is_list(kind) or types.is_large_list(kind):
        found = [_value(each) for each in scalar.values]
    else:
        found = scalar.as_py()
    return found


def make_total() -> None:
    """Let this process have every time that PySpark collects, and that a processor gets of its
    state; one that Python has not is text (times.py).

    Times without a zone are in the zone of the process, which is UTC. Great Expectations collects
    the values that failed a check, so this cannot be a function of ours alone.
    """
    for kind, found in (
        (types.TimestampType, _naive),
        (types.TimestampNTZType, _naive),
        (types.DateType, _date),
    ):
        kind.fromInternal = found  # type: ignore[assignment, method-assign]


def literal(value: Value) -> Column:
    """As F.lit, which takes a time before 1582 through the calendar of those days, two days off in
    the year 1.
    """
    if isinstance(value, datetime) and value.tzinfo is None:
        return literal(value.replace(tzinfo=UTC)).cast("timestamp_ntz")  # the session's zone is UTC
    if isinstance(value, datetime):
        return F.timestamp_micros(F.lit((value - EPOCH) // timedelta(microseconds=1)))
    if isinstance(value, date):
        return F.date_from_unix_date(F.lit((value - EPOCH.date()).days))
    return F.lit(value)


def _naive(_: Any, us: int | None) -> Any:
    if us is None:
        return None
    found = time_of(us)
    return found.replace(tzinfo=None) if isinstance(found, datetime) else found


def _date(_: Any, days: int | None) -> Any:
    return None if days is None else date_of(days)
