"""Compare: expected rows against those of a table, in any order, by the columns that each names.
What differs is shown as lines of a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any, Final, Literal, NamedTuple

from spark_jobs.errors.base import visible
from spark_jobs.values.times import iso

Values = Mapping[str, Any]


class Difference(NamedTuple):
    """A row of one side, or one of each that are alike in some columns."""

    what: Literal["missing", "unexpected", "changed"]
    expected: Values | None
    got: Values | None


def differences(expected: Sequence[Values], got: Sequence[Values]) -> list[Difference]:
    """Nothing where each expected row has a row of its own, and none is left."""
    matched = _matched(expected, got)
    missing = [row for number, row in enumerate(expected) if number not in matched.values()]
    left = [row for number, row in enumerate(got) if number not in matched]
    found = []
    while pairs := [(_alike(*pair), pair) for pair in product(missing, left)]:
        alike, (wanted, row) = max(pairs, key=lambda pair: pair[0])
        if not alike:
            break
        found.append(Difference("changed", wanted, row))
        missing = [each for each in missing if each is not wanted]
        left = [each for each in left if each is not row]
    found += [Difference("missing", row, None) for row in missing]
    return found + [Difference("unexpected", None, row) for row in left]


def _matched(expected: Sequence[Values], got: Sequence[Values]) -> dict[int, int]:
    """Row of `got` -> expected row: as many as can be, by augmenting paths. One row more columns
    may be all that another needs.
    """
    fits = [[n for n, row in enumerate(got) if fit(wanted, row)] for wanted in expected]
    taken: dict[int, int] = {}

    def place(wanted: int, tried: set[int]) -> bool:
        for number in fits[wanted]:
            if number in tried:
                continue
            tried.add(number)
            if number not in taken or place(taken[number], tried):
                taken[number] = wanted
                return True
        return False

    for number in range(len(expected)):
        place(number, set())
    return taken


def fit(wanted: Values, row: Values) -> bool:
    """Whether the row has all that is wanted."""
    return all(name in row and same(value, row[name]) for name, value in wanted.items())


def _alike(wanted: Values, row: Values) -> int:
    return sum(name in row and same(value, row[name]) for name, value in wanted.items())


def same(wanted: Any, got: Any) -> bool:
    """Whether a value of YAML is this value of a table: a time is text there.

    >>> same("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)), same(1, True)
    (True, False)
    """
    if wanted is None or got is None:
        return wanted is got
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    try:
        return _same(wanted, got)
    except (ValueError, TypeError, AttributeError, InvalidOperation):
        return False  # it is of another type


def _same(wanted: Any, got: Any) -> bool:
    for kind, alike in _ALIKE.items():
        if isinstance(got, kind):
            return alike(wanted, got)
    return type(wanted) is type(got) and bool(wanted == got)


def _floats(wanted: Any, got: float) -> bool:
    if math.isnan(got):
        return math.isnan(float(wanted))
    return not isinstance(wanted, str) and math.isclose(wanted, got, rel_tol=1e-9)


def _structs(wanted: Any, got: dict[str, Any]) -> bool:
    return wanted.keys() == got.keys() and all(same(wanted[name], got[name]) for name in got)


_ALIKE: Final[dict[type, Callable[[Any, Any], bool]]] = {
    datetime: lambda wanted, got: _utc(datetime.fromisoformat(wanted)) == _utc(got),
    date: lambda wanted, got: date.fromisoformat(wanted) == got,
    Decimal: lambda wanted, got: Decimal(str(wanted)) == got,
    float: _floats,
    bytes: lambda wanted, got: (wanted.encode() if isinstance(wanted, str) else wanted) == got,
    dict: _structs,
    list: lambda wanted, got: len(wanted) == len(got) and all(map(same, wanted, got)),
}
"""Type of a table's value -> whether a value of YAML is it. A datetime is a date too."""


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


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
