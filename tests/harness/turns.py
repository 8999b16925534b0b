"""Turns: a dear test has many forms, and a run has some of them, by the day; `make test-long` has
all.

A form is one set of a test's parameters; those that are skipped are none. So is each test of a
file whose promises others hold, too, and each of several that show one promise in different places.
What all forms cost says in how many turns they come: some ALLOWED seconds a turn. One form at least
is in every run, and two forms of one test are both.

The days cost alike, by lanes with a session and by others: of forms with a line of their own in
tests/costs.json the dearest is given its day first, and each the day that has least. The others
fill up, by their names.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final
from zlib import crc32

import pytest

from tests.harness.costs import ASKED, TESTS, Known, file_of, folder_of, id_of, known, shares
from tests.harness.lanes import collected_by

VARIABLE: Final = "SLUICE_TURN"
"""The number of the day, as the Makefile derives it; without it all forms run."""
DAYS: Final = 60
"""Behind so many all turns begin again."""
TURNS: Final = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20)
"""Of which a test has one: each of its forms comes within so many days, while tests and costs stay as
they are. Each night has all.
"""
ALLOWED: Final = 0.5
"""Processor seconds of a test's forms in one run."""
LEAST: Final = 3
"""Forms of one test from which on they come by turns: two are often opposites. Tests that show one
promise in different places are not.
"""


ALIKE: Final = "alike"
"""The mark of tests that are forms of one thing; its argument names the thing."""


def held_by(*files: str) -> pytest.MarkDecorator:
    """These files below tests/ hold what the marked tests of a file hold, and cost less."""
    if absent := [file for file in files if not (TESTS / file).exists()]:
        raise FileNotFoundError(*absent)
    return alike("")


def alike(promise: str) -> pytest.MarkDecorator:
    """The marked tests, of whichever file, show one promise in different places; without a name
    those of each file do.
    """
    return getattr(pytest.mark, ALIKE)(promise)


def turns(forms: int, seconds: float, least: int = LEAST) -> int:
    """In how many turns so many forms come, of so many seconds together."""
    wanted = round(seconds / ALLOWED) if forms >= least else 1
    return max(each for each in TURNS if each == 1 or (each <= forms and _shorter(each) < wanted))


def _shorter(turns: int) -> int:
    return TURNS[TURNS.index(turns) - 1]


class Forms:
    """Of one test, or of one promise: in so many turns."""

    def __init__(self, by: int) -> None:
        self.by = by
        self._given = [0] * by
        """How many forms each turn has."""

    def lightest(self, load: Sequence[float]) -> int:
        """Of the turns with the fewest forms the one whose dearest day, by `load`, has least."""
        return self._give(lambda turn: (max(load[turn :: self.by]), sum(load[turn :: self.by])))

    def next(self, first: int) -> int:
        """Of the turns with the fewest forms the next one from here."""
        return self._give(lambda turn: ((turn - first) % self.by, 0))

    def _give(self, order: Callable[[int], tuple[float, float]]) -> int:
        fewest = min(self._given)
        free = [turn for turn, given in enumerate(self._given) if given == fewest]
        turn = min(free, key=order)
        self._given[turn] += 1
        return turn


def left(items: Sequence[pytest.Item], day: int, costs: Known) -> list[pytest.Item]:
    """The items that another day has. Lanes that collect different folders agree on those that both
    have. Raises ValueError where the same lanes do not collect all forms of a promise.
    """
    of_each = shares(items, costs)
    together: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in of_each:
        mark = item.get_closest_marker(ALIKE)
        of = mark.args[0] or file_of(item) if mark else item.nodeid.partition("[")[0]
        together[of, 2 if mark else LEAST].append(item)
    turn = dict[pytest.Item, int]()
    forms = dict[pytest.Item, Forms]()
    for (_, least), of_one in together.items():
        if len({collected_by(folder_of(item)) for item in of_one}) > 1:
            message = f"not the same lanes collect {of_one[0].nodeid} and all other forms"
            raise ValueError(message)
        by = turns(len(of_one), math.fsum(of_each[each] for each in of_one), least)
        if by > 1:
            forms |= dict.fromkeys(of_one, Forms(by))
    loads: defaultdict[object, list[float]] = defaultdict(lambda: [0.0] * DAYS)
    for item in sorted(forms, key=lambda item: (-of_each[item], _mixed(item))):
        if id_of(item) in costs.tests:
            load, by = loads[collected_by(folder_of(item))], forms[item].by
            turn[item] = forms[item].lightest(load)
            load[turn[item] :: by] = [past + of_each[item] for past in load[turn[item] :: by]]
    for (of, _), of_one in together.items():
        for item in sorted(forms.keys() & {*of_one} - turn.keys(), key=_mixed):
            turn[item] = forms[item].next(crc32(of.encode()))
    return [item for item, its in turn.items() if its != day % forms[item].by]


def _mixed(form: pytest.Item) -> tuple[int, str]:
    """Neighbours in a table are often alike: a day has some of each part."""
    return crc32(form.nodeid.encode()), form.nodeid


def by_turns(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what another turn has, where the run takes turns."""
    if VARIABLE not in os.environ or ASKED in os.environ:  # costs are of all forms
        return
    others = left(items, int(os.environ[VARIABLE]), known())
    config.hook.pytest_deselected(items=others)
    out = {*others}
    items[:] = [item for item in items if item not in out]
