"""Compare: what a switch would change in the table, by day of the rows' position.

Rows are compared where both tables have the same columns, else counted. Doubles count as equal in
7 digits: their sums depend on the order of the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.spec.analysis.rounding import output_key
from spark_jobs.values.own_columns import DELETED, is_own, own
from spark_jobs.values.spans import MICROSECOND, floor_sql
from spark_jobs.values.times import date_of

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.table.port import Table
    from spark_jobs.values.spans import Position


DAY: Final = timedelta(days=1)
_DAY_US: Final = DAY // MICROSECOND


class Day(NamedTuple):
    """The rows of one day. `changed`, `added` and `removed` are 0 where columns differ."""

    day: date | str | None
    """None for rows without a position; text for a day that Python has not
    (times.py)."""
    before: int
    after: int
    changed: int
    added: int
    removed: int


class Difference(NamedTuple):
    """Between the live table and the one beside."""

    columns: tuple[str, ...]
    """A word for each column that only one of them has, or that has another type."""
    days: tuple[Day, ...]

    @property
    def none(self) -> bool:
        """Whether a switch changes no row and no column."""
        return not self.columns and not any(
            day.changed + day.added + day.removed for day in self.days
        )


def difference(live: Table, side: Table, spec: Pipeline, position: Position | None) -> Difference:
    """Compare both tables at their newest versions. `spec` is NEXT; the days are of `position`,
    if both tables have its column.
    """
    tables = {"live": live, "side": side}
    types = {name: _types(table) for name, table in tables.items()}
    columns = tuple(_differing(types["live"], types["side"]))
    placed = position is not None and all(position.column in known for known in types.values())
    day = _day(position) if placed and position else "CAST(NULL AS BIGINT)"
    sql = _counts(day) if columns else _rows(day, types["side"], output_key(spec))
    seen = ", ".join(map(_seen, tables, tables.values()))
    found = live.query(f"WITH {seen}, {sql}", own("live"), {own("side"): side})
    days, *counts = (found.column(name).to_pylist() for name in Day._fields)
    told = (None if us is None else date_of(us // _DAY_US) for us in days)
    return Difference(columns, tuple(Day(*row) for row in zip(told, *counts, strict=True)))


def lines(found: Difference, most: int = 40) -> Iterator[str]:
    """It as text: the columns, a line for each day that changes, and the sum."""
    yield from (f"  column {word}" for word in found.columns)
    if found.columns:
        yield "  the columns differ, so rows are counted and not compared"
    differing = [
        day for day in found.days if day.changed + day.added + day.removed or found.columns
    ]
    for day in differing[:most]:
        yield f"  {_name(day)}: {_figures(day, compared=not found.columns)}"
    if len(differing) > most:
        yield f"  and {len(differing) - most} days more"
    if not found.columns and len(found.days) > len(differing):
        yield f"  {len(found.days) - len(differing)} days are equal"
    counts = Day._fields[1:]
    total = Day(None, *(sum(getattr(day, name) for day in found.days) for name in counts))
    yield f"  in all: {_figures(total, compared=not found.columns)}"


def _name(day: Day) -> str:
    return str(day.day) if day.day else "rows"


def _figures(day: Day, *, compared: bool) -> str:
    rows = f"{day.before:,} rows -> {day.after:,}"
    if not compared:
        return rows
    return f"{rows}, {day.changed:,} changed, {day.added:,} added, {day.removed:,} removed"


def _seen(name: str, table: Table) -> str:
    """What consumers see of a table: deletes that it remembers are no rows."""
    where = f' WHERE NOT "{DELETED}"' if DELETED in table.columns() else ""
    return f"{name} AS (SELECT * FROM {own(name)}{where})"


def _types(table: Table) -> dict[str, Any]:
    """Without Sluice's own, which say when and from where a row came."""
    return {name: kind for name, kind in table.columns().items() if not is_own(name)}


def _differing(live: dict[str, Any], side: dict[str, Any]) -> Iterator[str]:
    for name in live.keys() | side.keys():
        if name not in side:
            yield f"{name} is dropped"
        elif name not in live:
            yield f"{name} is new"
        elif live[name] != side[name]:
            yield f"{name} has another type"


def _day(position: Position) -> str:
    """In microseconds since 1970: of times before 1677 and after 2262 delta-rs tells no day."""
    at = f'CAST("{position.column}" AS BIGINT)'
    return floor_sql(f"({at} - 1)" if position.edge == "end" else at, DAY)


_DAY, _OLD, _NEW, _MORE_OLD, _MORE_NEW, _CHANGED = (
    f'"{own(name)}"' for name in ("day", "old", "new", "more_old", "more_new", "changed")
)


def _counts(day: str) -> str:
    return (
        f"both AS (SELECT {day} AS {_DAY}, 1 AS {_OLD}, 0 AS {_NEW} FROM live "
        f"UNION ALL SELECT {day}, 0, 1 FROM side) "
        f'SELECT {_DAY} AS day, sum({_OLD}) AS "before", sum({_NEW}) AS "after", 0 AS changed, '
        f"0 AS added, 0 AS removed FROM both GROUP BY {_DAY} ORDER BY {_DAY}"
    )


def _value(name: str, kind: Any) -> str:
    """A double without the last bits, which the order of its records decides; a map by key."""
    if isinstance(kind, dict) and kind["type"] == "map":
        return f'array_sort(map_entries("{name}"))'
    return f'CAST("{name}" AS REAL)' if kind == "double" else f'"{name}"'


def _rows(day: str, types: dict[str, Any], identity: tuple[str, ...] | None) -> str:
    """Equal rows are counted first: what one table has more often is a change of their identity."""
    values = ", ".join(f'{_value(name, kind)} AS "{name}"' for name, kind in types.items())
    names = ", ".join(f'"{name}"' for name in types)
    keys = "".join(f', "{name}"' for name in identity or ())
    per = f"GROUP BY {_DAY}{keys}" if identity is not None else f"GROUP BY {_DAY}, {names}"
    pairs = f"least(sum({_MORE_OLD}), sum({_MORE_NEW}))" if identity is not None else "0"
    return (
        f"both AS (SELECT {day} AS {_DAY}, {values}, 1 AS {_OLD}, 0 AS {_NEW} FROM live "
        f"UNION ALL SELECT {day}, {values}, 0, 1 FROM side), "
        f"equal AS (SELECT {_DAY}, {names}, sum({_OLD}) AS {_OLD}, sum({_NEW}) AS {_NEW}, "
        f"greatest(sum({_OLD}) - sum({_NEW}), 0) AS {_MORE_OLD}, "
        f"greatest(sum({_NEW}) - sum({_OLD}), 0) AS {_MORE_NEW} "
        f"FROM both GROUP BY {_DAY}, {names}), "
        f"keyed AS (SELECT {_DAY}, sum({_OLD}) AS {_OLD}, sum({_NEW}) AS {_NEW}, "
        f"{pairs} AS {_CHANGED}, sum({_MORE_NEW}) AS {_MORE_NEW}, "
        f"sum({_MORE_OLD}) AS {_MORE_OLD} FROM equal {per}) "
        f'SELECT {_DAY} AS day, sum({_OLD}) AS "before", sum({_NEW}) AS "after", '
        f"sum({_CHANGED}) AS changed, sum({_MORE_NEW} - {_CHANGED}) AS added, "
        f"sum({_MORE_OLD} - {_CHANGED}) AS removed "
        f"FROM keyed GROUP BY {_DAY} ORDER BY {_DAY}"
    )
