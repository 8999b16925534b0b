"""Lanes: how the tests are laid over processes (pytest-xdist), each with a Spark session and a
broker of its own where it needs them.

The dearest come first, by tests/costs.json. A test goes to whichever lane is free. Those of a file
stay together where a fixture of its module serves several of them. So do those of a folder that
start, kill and time processes: they have no other of their kind beside them. Those of Airflow share
its imports, its database and its server; the examples of a page go on from each other.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.harness.costs import TESTS, known

A_LANE_EACH: Final = {
    "stack",
    "e2e",
    "browser",
    "cluster",
    "faults",
    "store",
    "airflow",
    "examples",
}
_SHARED: Final = re.compile(
    r"@pytest\.fixture\([^)]*scope=\"(?:module|class)\"[^)]*\)(?:\s*@.*)*\s*(?:async )?def (\w+)"
)
_CACHED: Final = re.compile(r"^@(?:cache|lru_cache)\b", re.MULTILINE)
_ASKS: Final = r"(?:\(|, |\n\s+|usefixtures\(\")(?:{})\b"


@cache
def scope(file: str) -> str:
    """What goes to one lane with the tests of a file below tests/: its folder, it, or nothing."""
    folder = file.partition("/")[0]
    if folder in A_LANE_EACH:
        return folder
    path = TESTS / file
    makers = [path, *(up / "conftest.py" for up in path.parents if TESTS in (up, *up.parents))]
    texts = [maker.read_text() for maker in makers if maker.exists()]
    shared = {name for text in texts for name in _SHARED.findall(text)}
    asks = re.search(_ASKS.format("|".join(shared)), texts[0]) if shared else None
    return file if asks or _CACHED.search(texts[0]) else ""


class Lanes(LoadScopeScheduling):
    """xdist's own loadgroup marks a test's id, and cannot where pytest is 9.2 or newer."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0].removeprefix(f"{TESTS.name}/")
        return scope(file) or nodeid


def dearest_first(items: list[pytest.Item]) -> None:
    """By what a lane gets at once; within that by name."""
    costs = known()
    files = {item.path: str(item.path.relative_to(TESTS)) for item in items}
    together = Counter[str]()
    for file in files.values():
        together[scope(file) or file] += costs.get(file, 0)

    def dear(item: pytest.Item) -> tuple[float, Path]:
        file = files[item.path]
        return -together[scope(file) or file], item.path

    items.sort(key=dear)
