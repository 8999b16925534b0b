"""Rows of keys: in which intervals of time a table has rows of some keys, asked without Spark."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.ops.results import Asked, Version, kept
from spark_jobs.repair.find.late import Touching
from spark_jobs.storage.pin import Changed
from spark_jobs.values.spans import (
    EPOCH,
    FIRST,
    LAST,
    MICROSECOND,
    Position,
    Span,
    any_of,
    floor_sql,
    joined,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.table.port import Table

TYPES: Final = {"string": str, "byte": int, "short": int, "integer": int, "long": int}
"""Of columns that are held against a key's values as SQL has them -> the type of such a value."""
MOST_TIMES: Final = 64
"""Different times of the changes of one version: of more, the times between them count too."""
WHOLE: Final = Span(FIRST, LAST)
"""All times that ranges have."""
Key = tuple[Any, ...]
"""Values of a key's columns."""


class Sought(NamedTuple):
    """Keys that a version changes, which are looked for."""

    version: int
    within: Span
    """The positions of rows that depend on them."""
    keys: set[Key]

    def has(self, key: Key, interval: Span) -> bool:
        """Whether a row of this key in this interval depends on one of them."""
        return key in self.keys and interval.overlaps(self.within)


def can_ask(table: Table, position: Position, columns: Mapping[str, str]) -> bool:
    """Whether the table can be asked for rows by these columns: the key's -> its own."""
    if "query" not in table.can or not table.exists():
        return False
    types = table.columns()
    times = types.get(position.column) == "timestamp"
    return times and all(types.get(name) in TYPES for name in columns.values())


def extent(table: Table, position: Position) -> Span:
    """From the first row to behind the last; all times where the table cannot be asked."""
    if not can_ask(table, position, {}):
        return WHOLE
    column = f"CAST(`{position.column}` AS BIGINT)"
    where = position.sql([WHOLE])
    [row] = _asked(
        table, f"SELECT min({column}) AS s, max({column}) AS e FROM t WHERE {where}"
    ).to_pylist()
    if row["s"] is None:
        return Span(FIRST, FIRST)
    first, last = (EPOCH + row[name] * MICROSECOND for name in ("s", "e"))
    return Span(first - MICROSECOND, last + MICROSECOND)


def fit(table: Table, changes: Iterable[Changed], columns: Mapping[str, str]) -> bool:
    """Whether each change has a value for each column of its key, of the table's type or null. A
    join by Spark may find rows of another one too: of "07" by 7.
    """
    types = table.columns()
    kinds = {key: (TYPES[types[name]], type(None)) for key, name in columns.items()}
    keys = (json.loads(each.key or "{}") for each in changes)
    return all(type(key.get(name, ...)) in kinds[name] for key in keys for name in kinds)


def by_times(changes: Iterable[Changed], columns: Mapping[str, str]) -> dict[Span, set[Key]]:
    """The keys, by the event times that their changes concern."""
    found = defaultdict[Span, set[Key]](set)
    for each in changes:
        values = json.loads(each.key or "{}")
        key = tuple(values.get(name) for name in columns)
        found[Span(each.start or FIRST, each.end or LAST)].add(key)
    if len(found) <= MOST_TIMES:
        return found
    wide = defaultdict[Span, set[Key]](set)
    for span in joined(found, MOST_TIMES):
        for times, keys in found.items():
            if span.overlaps(times):
                wide[span] |= keys
    return wide


def intervals(
    table: Table,
    position: Position,
    names: Sequence[str],
    sought: Sequence[Sought],
    length: timedelta,
) -> Iterator[tuple[int, Touching]]:
    """The intervals of this length in which the table has rows whose columns of these names are one
    of the keys, with the version of each change. By one query, however many versions there are.
    """
    if not (sought := [each for each in sought if not each.within.empty]):
        return
    at = f"CAST(`{position.column}` AS BIGINT)" + (" - 1" if position.edge == "end" else "")
    where = any_of(
        f"(({position.sql([each.within])}) AND ({_among(names, each.keys)}))" for each in sought
    )
    columns = ", ".join(f"`{name}`" for name in names)
    sql = f"SELECT DISTINCT {floor_sql(at, length)} AS s, {columns} FROM t WHERE {where}"
    rows = _asked(table, sql)
    starts, *values = (column.to_pylist() for column in rows.columns)
    found = Counter[tuple[int, Span]]()
    for s, key in zip(starts, zip(*values, strict=True), strict=True):
        start = EPOCH + s * MICROSECOND
        span = Span(start, start + length)
        found.update((each.version, span) for each in sought if each.has(key, span))
    for (version, span), number in sorted(found.items()):
        yield version, Touching(span, 0, changes=number)


def _asked(table: Table, sql: str) -> pa.Table:
    now = Version(str(table.path), table.identifier(), table.version())
    return kept(Asked((now,), sql), lambda: table.query(sql))


def _among(names: Sequence[str], keys: Iterable[Key]) -> str:
    """The SQL condition for rows of these keys. Of null no step finds rows."""
    whole = sorted(tuple(map(_literal, key)) for key in keys if None not in key)
    if not whole:
        return "false"
    if len(names) == 1:
        return f"`{names[0]}` IN ({', '.join(value for (value,) in whole)})"
    return any_of(
        "(" + " AND ".join(f"`{name}` = {of}" for name, of in zip(names, key, strict=True)) + ")"
        for key in whole
    )


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
