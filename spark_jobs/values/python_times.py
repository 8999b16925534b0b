"""Python times: times of Spark and of Arrow as Python has them, also those that it has not.

Python's times are of the years 1 to 9999. Results may be beyond: a window begins before its record,
and 9999-12-31 plus a day is a time for Spark. Such a one is text here: a person sees it, and code
that would compute with it fails.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS_OF_400_YEARS: Final = 146_097


def time_of(us: int) -> datetime | str:
    """From microseconds since the epoch.

    >>> print(time_of(-62135596800000000), time_of(253402300800000000))
    0001-01-01 00:00:00+00:00 +10000-01-01T00:00:00Z
    """
    try:
        return EPOCH + timedelta(microseconds=us)
    except OverflowError:
        days, rest = divmod(us, 86_400_000_000)
        clock = (datetime.min + timedelta(microseconds=rest)).time().isoformat()  # noqa: DTZ901 - a time of day
        return f"{date_of(days)}T{clock}Z"


def in_utc(time: datetime) -> datetime | str:
    """A time without a zone is UTC, whatever the zone of the process. A shift may end beyond
    Python's times.

    >>> print(in_utc(datetime(1, 1, 1)))
    0001-01-01 00:00:00+00:00
    """
    zoned = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return time_of((zoned - EPOCH) // timedelta(microseconds=1))


def date_of(days: int) -> date | str:
    """From days since the epoch.

    >>> date_of(-719162), date_of(-719163), date_of(2932897), date_of(-1000000)
    (datetime.date(1, 1, 1), '0000-12-31', '+10000-01-01', '-0768-02-04')
    """
    try:
        return EPOCH.date() + timedelta(days=days)
    except OverflowError:  # the calendar repeats itself after 400 years
        cycles, rest = divmod(days, _DAYS_OF_400_YEARS)
        like = EPOCH.date() + timedelta(days=rest)
        year = like.year + 400 * cycles
        sign = "-" if year < 0 else "+" if year > date.max.year else ""
        return f"{sign}{abs(year):04d}-{like:%m-%d}"


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
