"""Turns: of a dear test's many forms, a run has a third, by the day; `make test-long` has all.

A form is one set of a test's parameters; those that are skipped are none. At least one form of each
test is in every run, and a test of two forms keeps both. Of the tests of a file that others hold,
too, each is a form: so one of them is in every run.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from zlib import crc32

import pytest

from tests.harness.costs import TESTS, known

VARIABLE: Final = "SLUICE_TURN"
"""The number of the turn, as the Makefile derives it from the day; without it all forms run."""
TURNS: Final = 3
DEAR: Final = 0.5
"""Processor seconds of a test, on average over its file."""


HELD: Final = "held"
"""The mark of such tests."""


def held_by(*files: str) -> pytest.MarkDecorator:
    """The promises of dear tests are held by these files below tests/, too, in every run."""
    if absent := [file for file in files if not (TESTS / file).exists()]:
        raise FileNotFoundError(*absent)
    return getattr(pytest.mark, HELD)


def left(items: Sequence[pytest.Item], turn: int, costs: Mapping[str, float]) -> list[pytest.Item]:
    """The items that another turn has."""
    run = [item for item in items if not any(m.args[0] for m in item.iter_markers("skipif"))]
    files = Counter(map(_file, run))
    forms: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in run:
        if costs.get(file := _file(item), 0) > DEAR * files[file]:
            of = file if item.get_closest_marker(HELD) else item.nodeid.partition("[")[0]
            forms[of].append(item)
    return [each for of in forms.values() if len(of) >= TURNS for each in _others(of, turn)]


def by_turns(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what another turn has, where the run takes turns."""
    if VARIABLE not in os.environ:
        return
    others = left(items, int(os.environ[VARIABLE]), known())
    config.hook.pytest_deselected(items=others)
    out = {*others}
    items[:] = [item for item in items if item not in out]


def _others(forms: Sequence[pytest.Item], turn: int) -> list[pytest.Item]:
    """They are dealt to the turns in an order that has nothing to do with theirs."""
    dealt = sorted(forms, key=lambda form: crc32(form.nodeid.encode()))
    return [form for number, form in enumerate(dealt) if number % TURNS != turn % TURNS]


def _file(item: pytest.Item) -> str:
    return str(item.path.relative_to(TESTS))
