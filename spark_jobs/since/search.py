"""Search: where the answer to a question changes among many in a row, asked of few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final, NamedTuple

GRID: Final = 16
"""Steps of the first look. Halves alone would meet one change, whatever came and went beside it."""


class Flip(NamedTuple):
    """Two with different answers, and none between them that can be asked."""

    before: int
    after: int
    to: bool
    """The answer of `after`."""


def flips(askable: list[int], ask: Callable[[int], bool], near: Iterable[int] = ()) -> list[Flip]:
    """Ascending. `askable` ascends. Asked first are its ends, some others and those of `near`,
    where an answer may change and change back; then the middle between each two that differ.

    >>> asked = []
    >>> flips([*range(100)], lambda n: asked.append(n) or n >= 42)
    [Flip(before=41, after=42, to=True)]
    >>> len(asked) <= GRID + 2 + 4
    True
    >>> flips([*range(100)], lambda n: 20 <= n < 60)
    [Flip(before=19, after=20, to=True), Flip(before=59, after=60, to=False)]
    """
    last, places = len(askable) - 1, {askable[n]: n for n in range(len(askable))}
    first = {last * n // GRID for n in range(GRID + 1)} if askable else set()
    first |= {places[each] for each in near if each in places}
    answers = {n: ask(askable[n]) for n in sorted(first)}
    found = []
    for one, other in pairwise(sorted(first)):
        low, high = one, other
        while answers[low] != answers[high] and high - low > 1:
            middle = (low + high) // 2
            answers[middle] = ask(askable[middle])
            low, high = (low, middle) if answers[middle] == answers[high] else (middle, high)
        if answers[low] != answers[high]:
            found.append(Flip(askable[low], askable[high], answers[high]))
    return found
