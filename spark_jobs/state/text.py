"""Formats state, and the changes between two readings of it, as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from spark_jobs.spec.steps.expires import Variable
from spark_jobs.state.table import Row, Table
from spark_jobs.values.times import in_utc


class RowChange(NamedTuple):
    """A row that appeared (`before` is None), was removed (`after` is None) or has other values."""

    table: Table
    before: Row | None
    after: Row | None


def row_changes(before: Table | None, after: Table | None) -> list[RowChange]:
    """The changes, in the order of the rows.

    `before` or `after` is None if the variable did not exist.

    The key identifies a row. Elements of a list, and timers, have no key of their own: the whole
    row identifies them, and equal rows are counted.
    """
    table = after or before
    if table is None:
        return []
    old = _by_identity(before) if before else {}
    new = _by_identity(after) if after else {}
    return [
        RowChange(table, old.get(key), new.get(key))
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]


def _by_identity(table: Table) -> dict[str, Row]:
    """By text, because a row that contains a list is not hashable."""
    seen: Counter[str] = Counter()
    rows: dict[str, Row] = {}
    for row in table.rows:
        identity = repr(row if table.variable.keyless else tuple(table.parts(row)[0].values()))
        seen[identity] += 1
        rows[f"{identity} {seen[identity]}"] = row
    return rows


def format_title(table: Table) -> str:
    """The variable, its number of rows, and how many of them are shown."""
    shown = "" if table.total <= len(table.rows) else f"; the first {len(table.rows):,} are shown"
    return (
        f"{_variable_prefix(table.variable)}{table.total:,} "
        f"row{'s' if table.total != 1 else ''}{shown}"
    )


def format_rows(table: Table) -> Iterator[str]:
    """A line of column names and a line for each row, numbers aligned to the right.

    No lines if there are no rows.
    """
    if not table.rows:
        return
    cells = [[format_value(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.names, *cells, strict=True)]
    numeric = [
        all(isinstance(row[index], int | float | None) for row in table.rows)
        for index in range(len(widths))
    ]
    for line in (list(table.names), *cells):
        padded = (
            text.rjust(width) if is_numeric else text.ljust(width)
            for text, width, is_numeric in zip(line, widths, numeric, strict=True)
        )
        yield "  " + "  ".join(padded).rstrip()


def format_change(change: RowChange, omit: Container[str] = ()) -> str:
    """A change on one line: its kind, the key, and the values before and after.

    `omit` names key columns to leave out.
    """
    table = change.table
    row = change.before if change.after is None else change.after
    assert row is not None
    keys, values = table.parts(row)
    if change.before is None or change.after is None:
        kind = "appeared " if change.before is None else "removed  "
        parts = [f"{name} {format_value(value)}" for name, value in values.items()]
    else:
        kind = "changed  "
        old = table.parts(change.before)[1]
        parts = [
            f"{name} {format_value(old[name])} -> {format_value(new)}"
            for name, new in values.items()
            if old[name] != new
        ]
    key = ", ".join(
        f"{name} {format_value(value)}" for name, value in keys.items() if name not in omit
    )
    return f"{kind}  {_variable_prefix(table.variable)}" + ": ".join(
        filter(None, [key, ", ".join(parts)])
    )


def format_value(value: Any) -> str:
    """One value of a Spark Row (so Any) on one line."""
    if isinstance(value, datetime):
        value = in_utc(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if hasattr(value, "asDict"):  # Spark's Row
        value = value.asDict()
    if isinstance(value, dict):
        pairs = (f"{format_value(key)} {format_value(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return (
        f"0x{value.hex()}"
        if isinstance(value, bytes | bytearray)
        else str(value).replace("\n", "\\n")
    )


def _variable_prefix(variable: Variable) -> str:
    expiring = ", expiring" if variable.ttl else ""
    kinds = {"ValueState": "value", "ListState": "list", "MapState": "map"}
    if variable.kind in kinds:
        return f"{variable.name} ({kinds[variable.kind]}{expiring}): "
    return f"{variable.name}: " if variable.name else ""
