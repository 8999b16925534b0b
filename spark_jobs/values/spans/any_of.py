"""Any of: a condition for which one of many holds."""

from __future__ import annotations

from collections.abc import Iterable


def any_of(conditions: Iterable[str]) -> str:
    """SQL; empty of none. It is a tree of few levels: delta-rs and Spark go down by one
    call a level, and a chain of some thousand ORs ends the process.

    >>> any_of(["a", "b", "c"])
    'a OR (b OR c)'
    >>> any_of(["a"])
    'a'
    """
    every = list(conditions)
    if len(every) <= 1:
        return every[0] if every else ""
    middle = len(every) // 2
    return f"{_part(every[:middle])} OR {_part(every[middle:])}"


def _part(conditions: list[str]) -> str:
    """AND binds closer than OR, so one condition needs no brackets."""
    return conditions[0] if len(conditions) == 1 else f"({any_of(conditions)})"
