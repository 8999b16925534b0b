"""State and its changes as lines for a terminal."""

from __future__ import annotations

from collections.abc import Container, Iterator
from datetime import UTC, datetime
from typing import Any

from spark_jobs.state.changes import Change
from spark_jobs.state.table import Table, Variable


def titled(table: Table) -> str:
    """What a variable is, how many rows it has, and how many of them are shown."""
    shown = "" if table.total <= len(table.rows) else f"; the first {len(table.rows):,} are shown"
    return f"{_title(table.variable)}{table.total:,} row{'s' if table.total != 1 else ''}{shown}"


def aligned(table: Table) -> Iterator[str]:
    """A line of names and a line a row, numbers to the right; nothing where there is no row."""
    if not table.rows:
        return
    cells = [[cell(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.names, *cells, strict=True)]
    right = [all(isinstance(row[place], int | float | None) for row in table.rows) for place in range(len(widths))]
    for line in (list(table.names), *cells):
        padded = (word.rjust(width) if to_right else word.ljust(width)
                  for word, width, to_right in zip(line, widths, right, strict=True))
        yield "  " + "  ".join(padded).rstrip()


def told(change: Change, known: Container[str] = ()) -> str:
    """A change in one line: what it befell, and the values before and after. `known` are key columns to leave out."""
    table = change.table
    row = change.before if change.after is None else change.after
    assert row is not None
    named, kept = table.parts(row)
    what = "changed  "
    if change.before is None or change.after is None:
        what = "appeared " if change.before is None else "went away"
        values = [f"{name} {cell(value)}" for name, value in kept.items()]
    else:
        was = table.parts(change.before)[1]
        values = [f"{name} {cell(was[name])} -> {cell(value)}" for name, value in kept.items() if was[name] != value]
    key = ", ".join(f"{name} {cell(value)}" for name, value in named.items() if name not in known)
    return f"{what}  {_title(table.variable)}" + ": ".join(filter(None, [key, ", ".join(values)]))


def cell(value: Any) -> str:
    """One value, on one line."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    if hasattr(value, "asDict"):  # a Row of Spark
        value = value.asDict()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{cell(key)} {cell(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(cell, value))}]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return f"0x{value.hex()}" if isinstance(value, bytes | bytearray) else str(value).replace("\n", "\\n")


def _title(variable: Variable) -> str:
    expiring = ", expiring" if variable.ttl else ""
    kinds = {"ValueState": "value", "ListState": "list", "MapState": "map"}
    if variable.kind in kinds:
        return f"{variable.name} ({kinds[variable.kind]}{expiring}): "
    return f"{variable.name}: " if variable.name else ""
