"""Differing: in which times two versions of a dimension have other fields of a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.values.own_columns import own

if TYPE_CHECKING:
    import pyarrow as pa

FIRST: Final = datetime.min.replace(tzinfo=UTC)
LAST: Final = datetime.max.replace(tzinfo=UTC)
Key = tuple[Any, ...]


class Row(NamedTuple):
    """A row of one key."""

    start: datetime
    end: datetime
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
            yield key, None if start == FIRST else start, None if end == LAST else end


def by_key(rows: pa.Table, keys: int) -> dict[Key, tuple[Row, ...]]:
    """Each key's rows, in the order of time."""
    found = dict[Key, list[Row]]()
    timed = own("valid_from") in rows.column_names
    columns = [column.to_pylist() for column in rows.itercolumns()]
    for row in zip(*columns, strict=True):
        start, end = row[keys : keys + 2] if timed else (None, None)
        fields = row[keys + 2 * timed :]
        found.setdefault(row[:keys], []).append(Row(start or FIRST, end or LAST, fields))
    return {key: tuple(sorted(each, key=lambda row: row.start)) for key, each in found.items()}


def _apart(one: Sequence[Row], other: Sequence[Row]) -> Iterator[tuple[datetime, datetime]]:
    """The intervals, joined where they touch."""
    ends = sorted({FIRST, LAST, *(end for row in (*one, *other) for end in row[:2])})
    begun: datetime | None = None
    for start in ends:
        differs = start < LAST and at_time(one, start) != at_time(other, start)
        if differs and begun is None:
            begun = start
        elif not differs and begun is not None:
            yield begun, start
            begun = None


def at_time(rows: Sequence[Row], time: datetime) -> Key | None:
    """The fields of the row that is valid then; None if none is."""
    return next((row.fields for row in rows if row.start <= time < row.end), None)
