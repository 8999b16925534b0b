"""Python times: the rows of Arrow as Python has them, also those with times that Python has not:
text (times.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_jobs.values.times import date_of, time_of

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
