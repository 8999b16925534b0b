"""Compare: what a switch would change in the table, by day of the rows' position.

Rows are compared where both tables have the same columns, else counted. Doubles count as equal in
7 digits: their sums depend on the order of the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import deltalake

from spark_jobs.contract.steps import Aggregate, Transform
from spark_jobs.storage.delta import open_table

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.contract.position import Position
    from spark_jobs.contract.spec import Pipeline


class Day(NamedTuple):
    """The rows of one day. `changed`, `added` and `removed` are 0 where columns differ."""

    day: datetime | None
    """None for rows without a position."""
    before: int
    after: int
    changed: int
    added: int
    removed: int


class Difference(NamedTuple):
    """Between the live table and the side table."""

    columns: tuple[str, ...]
    """A word for each column that only one of them has, or that has another type."""
    days: tuple[Day, ...]

    @property
    def none(self) -> bool:
        """Whether a switch changes no row and no column."""
        return not self.columns and not any(
            day.changed + day.added + day.removed for day in self.days
        )


def difference(live: UPath, side: UPath, spec: Pipeline, position: Position | None) -> Difference:
    """Compare both tables at their newest versions. `spec` is NEXT; the days are of `position`,
    if both tables have its column.
    """
    tables = {"live": open_table(live), "side": open_table(side)}
    types = {name: _types(table) for name, table in tables.items()}
    columns = tuple(_differing(types["live"], types["side"]))
    placed = position is not None and all(position.column in known for known in types.values())
    day = _day(position) if placed and position else "CAST(NULL AS TIMESTAMP)"
    sql = _counts(day) if columns else _rows(day, types["side"], _identity(spec))
    builder = deltalake.QueryBuilder()
    for name, table in tables.items():
        builder = builder.register(name, table)
    found = builder.execute(sql).read_all()
    rows = zip(*(found.column(name).to_pylist() for name in Day._fields), strict=True)
    return Difference(columns, tuple(Day(*row) for row in rows))


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
    return f"{day.day:%F}" if day.day else "rows"


def _figures(day: Day, *, compared: bool) -> str:
    rows = f"{day.before:,} rows -> {day.after:,}"
    if not compared:
        return rows
    return f"{rows}, {day.changed:,} changed, {day.added:,} added, {day.removed:,} removed"


def _types(table: deltalake.DeltaTable) -> dict[str, str]:
    return {field.name: str(field.type) for field in table.schema().fields}


def _differing(live: dict[str, str], side: dict[str, str]) -> Iterator[str]:
    for name in live.keys() | side.keys():
        if name not in side:
            yield f"{name} is dropped"
        elif name not in live:
            yield f"{name} is new"
        elif live[name] != side[name]:
            yield f"{name} has another type"


def _identity(spec: Pipeline) -> tuple[str, ...] | None:
    """The columns that identify an output row; None if a row is what all its columns say."""
    for step in reversed(spec.steps):
        if isinstance(step, Aggregate):
            return step.group
        if not (isinstance(step, Transform) and step.where):
            return None
    return None


def _day(position: Position) -> str:
    column = f'"{position.column}"'
    before = f"{column} - INTERVAL '1 microsecond'" if position.edge == "end" else column
    return f"date_trunc('day', {before})"


def _counts(day: str) -> str:
    return (
        f"WITH both AS (SELECT {day} AS day, 1 AS o, 0 AS n FROM live "
        f"UNION ALL SELECT {day}, 0, 1 FROM side) "
        'SELECT day, sum(o) AS "before", sum(n) AS "after", 0 AS changed, 0 AS added, '
        "0 AS removed FROM both GROUP BY day ORDER BY day"
    )


def _rows(day: str, types: dict[str, str], identity: tuple[str, ...] | None) -> str:
    """Equal rows are counted first: what one table has more often is a change of their identity."""
    values = ", ".join(
        f'CAST("{name}" AS REAL) AS "{name}"' if "double" in kind.lower() else f'"{name}"'
        for name, kind in types.items()
    )
    names = ", ".join(f'"{name}"' for name in types)
    keys = "".join(f', "{name}"' for name in identity or ())
    per = f"GROUP BY day{keys}" if identity is not None else "GROUP BY day, " + names
    pairs = "least(sum(m), sum(p))" if identity is not None else "0"
    return (
        f"WITH both AS (SELECT {day} AS day, {values}, 1 AS o, 0 AS n FROM live "
        f"UNION ALL SELECT {day}, {values}, 0, 1 FROM side), "
        f"equal AS (SELECT day, {names}, sum(o) AS o, sum(n) AS n, "
        "greatest(sum(o) - sum(n), 0) AS m, greatest(sum(n) - sum(o), 0) AS p "
        f"FROM both GROUP BY day, {names}), "
        f"keyed AS (SELECT day, sum(o) AS o, sum(n) AS n, {pairs} AS changed, "
        f"sum(p) AS p, sum(m) AS m FROM equal {per}) "
        'SELECT day, sum(o) AS "before", sum(n) AS "after", sum(changed) AS changed, '
        "sum(p - changed) AS added, sum(m - changed) AS removed "
        "FROM keyed GROUP BY day ORDER BY day"
    )
