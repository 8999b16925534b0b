"""Compares two readings of a variable."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from spark_jobs.state.table import Row, Table


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
