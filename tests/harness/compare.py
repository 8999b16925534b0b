"""Bags of rows, compared."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

FIRST = 5
"""How many of the rows that differ a failure names."""


def difference(found, wanted) -> tuple[Counter[Any], Counter[Any]]:
    """What is missing from the found, and what of it should not be there."""
    has, should = Counter(found), Counter(wanted)
    return should - has, has - should


def assert_same(found: Iterable[Any], wanted: Iterable[Any], what: str) -> None:
    """Equal as bags, of rows (dicts) or anything countable; says the first that differ."""
    missing, extra = difference(map(_countable, found), map(_countable, wanted))
    assert not extra, f"{what} has {extra.total()} that should not be there: {_few(extra)}"
    assert not missing, f"{what} lacks {missing.total()}: {_few(missing)}"


def _countable(row: Any) -> Hashable:
    return tuple(sorted(row.items())) if isinstance(row, Mapping) else row


def _few(rows: Counter[Any]) -> str:
    return "; ".join(repr(row)[:400] for row in list(rows.elements())[:FIRST])
