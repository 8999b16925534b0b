"""What changed between two readings of a variable."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from spark_jobs.state.table import Row, Table


class Change(NamedTuple):
    """A row that appeared (`before` is None), went away (`after` is None) or has other values."""

    table: Table
    before: Row | None
    after: Row | None


def changes(before: Table | None, after: Table | None) -> list[Change]:
    """The changes, in the order of the rows; None where the variable was not there.

    A row is known by its key. Elements of a list and timers have none but themselves: they appear and go away, each as often as
    it is there.
    """
    known = after or before
    if known is None:
        return []
    was, now = (_by_identity(table) if table else {} for table in (before, after))
    return [Change(known, was.get(key), now.get(key)) for key in {**was, **now} if was.get(key) != now.get(key)]


def _by_identity(table: Table) -> dict[str, Row]:
    """By text: arrays in a row cannot be looked up."""
    seen: Counter[str] = Counter()
    rows: dict[str, Row] = {}
    for row in table.rows:
        known_by = repr(row if table.variable.keyless else tuple(table.parts(row)[0].values()))
        seen[known_by] += 1
        rows[f"{known_by} {seen[known_by]}"] = row
    return rows
