"""States: what rows a table has had, one after the other; at which version each can be read; and
the search among many where the answer to a question changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.table import history

if TYPE_CHECKING:
    from spark_jobs.table.entry import Entry
    from spark_jobs.table.port import Table

GRID: Final = 16
"""Steps of the first look. Halves alone would meet one change, whatever came and went beside it."""


class State(NamedTuple):
    """The rows of some versions in a row: those behind the first joined files, or had settings."""

    entry: Entry
    """Of the commit that made the rows."""
    versions: tuple[int, ...]
    """Ascending; the first is the entry's."""
    read_at: int | None
    """The version at which it is read; None if VACUUM has removed files of each."""

    @property
    def version(self) -> int:
        return self.entry.version


def states(table: Table, first: int, last: int) -> list[State]:
    """Ascending: those that the versions from `first` to `last` have, as far as the log is kept."""
    entries = [*takewhile(lambda entry: entry.version >= first, table.history())]
    entries = [entry for entry in reversed(entries) if entry.version <= last]
    whole, found = table.whole({entry.version for entry in entries}), list[State]()
    for entry in entries:
        if not found or history.changes_rows(entry):
            found.append(State(entry, (), None))
        of = found[-1]
        readable = entry.version if entry.version in whole else of.read_at
        found[-1] = of._replace(versions=(*of.versions, entry.version), read_at=readable)
    return found


class Flip(NamedTuple):
    """Two with different answers, and none between them that can be asked."""

    before: int
    after: int
    to: bool
    """The answer of `after`."""


def flips(askable: list[int], ask: Callable[[int], bool], near: Iterable[int] = ()) -> list[Flip]:
    """Ascending. `askable` ascends. Asked first are its ends, some others and those of `near`,
    where an answer may change and change back; then the middle between each two that differ.

    >>> flips([*range(100)], lambda n: 20 <= n < 60)
    [Flip(before=19, after=20, to=True), Flip(before=59, after=60, to=False)]
    """
    last, places = len(askable) - 1, {each: n for n, each in enumerate(askable)}
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
