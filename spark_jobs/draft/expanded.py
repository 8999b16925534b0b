"""Expanded: the parts within declared records, of a bounded number however types use each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from spark_jobs.draft.leaf import DEEPEST, MOST

T = TypeVar("T")
ROUNDS: Final = DEEPEST - 1


def expanded(parts: Iterable[T], within: Callable[[T], Sequence[T]]) -> list[T]:
    """Level by level each part is replaced by those within it, while there are MOST at most. A part
    for which there is no room stays whole. `within` is empty for what has no parts.
    """
    level = list(parts)[:MOST]
    for _ in range(ROUNDS):
        room, below = MOST - len(level), list[T]()
        for each in level:
            inner = within(each)
            fits = bool(inner) and len(inner) - 1 <= room
            room -= len(inner) - 1 if fits else 0
            below.extend(inner if fits else [each])
        level = below
    return level
