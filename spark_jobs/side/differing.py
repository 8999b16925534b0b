"""Differing: in which times two versions of a dimension have other fields of a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.values.own_columns import own
from spark_jobs.values.spans import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

EVER: Final = -(2**63)
"""Before all times, in microseconds since the epoch."""
NEVER: Final = 2**63 - 1
"""Behind them."""
Key = tuple[Any, ...]


class Row(NamedTuple):
    """A row of one key."""

    start: int
    """The first microsecond since the epoch at which it is valid: a table has years that Python has
    not.
    """
    end: int
    fields: Key


def differing(
    was: pa.Table, now: pa.Table, keys: int
) -> Iterator[tuple[Key, datetime | None, datetime | None]]:
    """A key, and the first time and that behind the last, of each interval in which the two differ;
    None where it has no such end. Of rows without times the interval is all.

    Both as side/dimension.py has them: at most one row of a key at a time.
    """
    before, after = by_key(was, keys), by_key(now, keys)
    for key in before.keys() | after.keys():
        one, other = before.get(key, ()), after.get(key, ())
        if one == other:
            continue
        for start, end in _apart(one, other):
            yield key, _moment(start), _moment(end)


def by_key(rows: pa.Table, keys: int) -> dict[Key, tuple[Row, ...]]:
    """Each key's rows, in the order of time."""
    found = dict[Key, list[Row]]()
    timed = own("valid_from") in rows.column_names
    columns = [
        column.to_pylist() if number < keys else _plain(column)
        for number, column in enumerate(rows.itercolumns())
    ]
    for row in zip(*columns, strict=True):
        start, end = row[keys : keys + 2] if timed else (None, None)
        span = (EVER if start is None else start, NEVER if end is None else end)
        found.setdefault(row[:keys], []).append(Row(*span, row[keys + 2 * timed :]))
    return {key: tuple(sorted(each, key=lambda row: row.start)) for key, each in found.items()}


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Its values as texts: NaN is then as NaN, and -0.0 no 0.0. Of times and dates numbers."""
    import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table

    for is_of, number in (
        (pa.types.is_timestamp, pa.int64()),
        (pa.types.is_date32, pa.int32()),
    ):
        if is_of(column.type):
            return list(column.cast(number).to_pylist())
    return [*map(repr, column.to_pylist())]


def _moment(at: int) -> datetime | None:
    """None of one that Python has not: it is before or behind all records."""
    try:
        return EPOCH + at * MICROSECOND
    except OverflowError:
        return None


def _apart(one: Sequence[Row], other: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The intervals, joined where they touch."""
    ends = sorted({EVER, NEVER, *(end for row in (*one, *other) for end in row[:2])})
    begun: int | None = None
    for start in ends:
        differs = start < NEVER and at_time(one, start) != at_time(other, start)
        if differs and begun is None:
            begun = start
        elif not differs and begun is not None:
            yield begun, start
            begun = None


def at_time(rows: Sequence[Row], time: int) -> Key | None:
    """The fields of the row that is valid then; None if none is."""
    return next((row.fields for row in rows if row.start <= time < row.end), None)
