"""Lanes: how the tests are laid over processes (pytest-xdist). Two have a Spark session each, and
what is beyond them has none: sessions beyond the cores cost their start and warm code of their own.

The dearest come first, by tests/costs.json. A test goes to whichever lane is free. Those of a file
stay together where a fixture of its module serves several of them. So do those of a folder that
start, kill and time processes: they have no other of their kind beside them. Those of Airflow share
its imports, its database and its server.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.harness.costs import TESTS, by_night, file_of

JVM: Final = pytest.StashKey[subprocess.Popen[bytes]]()
"""The process of a lane's Spark session."""
A_LANE_EACH: Final = {
    "stack",
    "e2e",
    "browser",
    "cluster",
    "faults",
    "store",
    "airflow",
}
WITH_SESSION: Final = {"spark", "seams", "e2e", "store", "faults"}
"""Folders whose tests use the session of their lane."""
SESSIONS: Final = 2
"""Lanes that have a session."""
MOST_AHEAD: Final = 2
"""Tests that a lane has, the one at work among them."""
MINUTES: Final = "SLUICE_MINUTES"
"""Of wall time, behind which no test is handed out any more that costs.json calls also by night."""
LEFT: Final = pytest.StashKey[list[str]]()
ORDER: Final = "SLUICE_ORDER"
"""A seed: the long form finds tests that need others before them."""
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

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._until = time.monotonic() + 60 * float(os.environ.get(MINUTES, "inf"))
        self._late = config.stash.setdefault(LEFT, [])

    def _split_scope(self, nodeid: str) -> str:
        return scope(_file(nodeid)) or nodeid

    def _assign_work_unit(self, node: WorkerController) -> None:
        """The next one that the lane may have. Without one it ends behind what it has."""
        if time.monotonic() > self._until:
            for unit in [unit for unit in self.workqueue if _file(unit) in by_night()]:
                self._late += self.workqueue.pop(unit)
        # One in the place of a dead lane has a higher number, and takes what that one may have had.
        light = SESSIONS <= int(node.gateway.id.removeprefix("gw")) < self.numnodes
        ours = (unit for unit in self.workqueue if not (light and needs_session(unit)))
        if (unit := next(ours, None)) is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(unit, last=False)
        try:
            super()._assign_work_unit(node)
        except OSError:  # it has just died: once xdist knows, another lane has what it was given
            return
        # A lane begins a test once it has the next: xdist gives one alone to a lane in place of a
        # dead one, which then waits for ever.
        if self.workqueue and self._pending_of(self.assigned_work[node]) < MOST_AHEAD:
            self._assign_work_unit(node)


def left(config: pytest.Config) -> list[str]:
    """The tests that a late run has left to the night."""
    return config.stash.get(LEFT, [])


def needs_session(unit: str) -> bool:
    """Whether a lane needs a session for it: a scope, or a test's id."""
    return _file(unit).partition("/")[0] in WITH_SESSION


def _file(unit: str) -> str:
    """Below tests/: of a test, or of a scope that is one."""
    return unit.removeprefix(f"{TESTS.name}/").partition("::")[0]


def end_without_jvm(config: pytest.Config) -> None:
    """End a lane whose JVM has died, and not with one failure a test: another lane takes the rest."""
    jvm = config.stash.get(JVM, None)
    if jvm is None or jvm.poll() is None:
        return
    if hasattr(config, "workerinput"):
        os._exit(jvm.returncode)
    pytest.exit(f"Spark's JVM is gone: it ended with {jvm.returncode}", returncode=1)


def ordered(items: list[pytest.Item], costs: Mapping[pytest.Item, float]) -> None:
    """The dearest first, by what a lane gets at once and then by name, or a dear one that comes last
    has a lane to itself while the others are idle; or as ORDER shuffles them.
    """
    if ORDER in os.environ:
        random.Random(os.environ[ORDER]).shuffle(items)
        return
    together = Counter[str]()
    for item in items:
        together[_unit(item)] += costs.get(item, 0)
    items.sort(key=lambda item: (-together[_unit(item)], file_of(item)))


def _unit(item: pytest.Item) -> str:
    return scope(file_of(item)) or item.nodeid
