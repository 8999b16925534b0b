"""Show: what differs, as lines of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from spark_jobs.errors.visible import visible
from spark_jobs.proof.compare import Difference, Values, same
from spark_jobs.values.times import iso

MOST: Final = 20
"""Rows that are shown."""
WIDEST: Final = 60
"""Letters of a cell."""


def table(found: Sequence[Difference]) -> Iterator[str]:
    """A line for each row that differs. A changed cell has both values: expected -> got."""
    columns = _columns(found)
    rows = ((each.what, *(_cell(each, name) for name in columns)) for each in found[:MOST])
    cells = [("", *columns), *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(found) > MOST:
        yield f"and {len(found) - MOST} more"


def _columns(found: Iterable[Difference]) -> tuple[str, ...]:
    """Those that the case names; where it names none, all."""
    named = dict.fromkeys(name for each in found for name in each.expected or ())
    return tuple(named or dict.fromkeys(name for each in found for name in each.got or ()))


def _cell(of: Difference, column: str) -> str:
    wanted, got = of.expected, of.got
    if wanted is None or got is None:
        return _text(wanted if wanted is not None else got, column)
    if column not in wanted or (column in got and same(wanted[column], got[column])):
        return _text(got, column)
    return f"{_text(wanted, column)} -> {_text(got, column)}"


def _text(row: Values | None, column: str) -> str:
    if row is None or column not in row:
        return ""
    return visible(_plain(row[column]), WIDEST)


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return f"{iso(value, unit='seconds')}Z"
    return str(value)
