"""Turns: a dear test has many forms, and a run has some of them, by the day; `make test-long` has
all.

A form is one set of a test's parameters; those that are skipped are none. So is each test of a
file whose promises others hold, too, and each of several that show one promise in different places.
What all forms cost says in how many turns they come: ALLOWED seconds a turn. One form at least is in every run, and two forms of one test are both.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from zlib import crc32

import pytest

from tests.harness.costs import TESTS, file_of, known, shares

VARIABLE: Final = "SLUICE_TURN"
"""The number of the day, as the Makefile derives it; without it all forms run."""
MOST: Final = 20
"""Turns of a test: each of its forms comes within so many days. Each night has all."""
ALLOWED: Final = 0.5
"""Processor seconds of a test's forms in one run; what one form costs is its file's average."""
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
    return max(1, min(MOST, forms, round(seconds / ALLOWED))) if forms >= least else 1


def left(items: Sequence[pytest.Item], day: int, costs: Mapping[str, float]) -> list[pytest.Item]:
    """The items that another day has."""
    of_each = shares(items, costs)
    forms: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in of_each:
        mark = item.get_closest_marker(ALIKE)
        of = mark.args[0] or file_of(item) if mark else item.nodeid.partition("[")[0]
        forms[of, 2 if mark else LEAST].append(item)
    found = []
    for (_, least), of in forms.items():
        by = turns(len(of), sum(of_each[each] for each in of), least)
        found += [each for n, each in enumerate(sorted(of, key=_mixed)) if (n - day) % by]
    return found


def _mixed(form: pytest.Item) -> int:
    """Neighbours in a table are often alike: a day has some of each part."""
    return crc32(form.nodeid.encode())


def by_turns(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what another turn has, where the run takes turns."""
    if VARIABLE not in os.environ:
        return
    others = left(items, int(os.environ[VARIABLE]), known())
    config.hook.pytest_deselected(items=others)
    out = {*others}
    items[:] = [item for item in items if item not in out]
