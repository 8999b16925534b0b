"""Lanes: how the tests are laid over processes (pytest-xdist). Two have a Spark session each, and
what is beyond them has none: sessions beyond the cores cost their start and warm code of their own.
A lane collects what it may be given: Airflow's imports are a lane's without a session.

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
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.harness.costs import TESTS, by_night, file_of

JVM: Final = pytest.StashKey[subprocess.Popen[bytes]]()
"""The process of a lane's Spark session."""
A_LANE_EACH: Final = {"stack", "e2e", "browser", "cluster", "faults", "store", "airflow"}
WITH_SESSION: Final = {"spark", "seams", "e2e", "store", "faults"}
"""Folders whose tests use the session of their lane."""
SESSIONS: Final = 2
"""Lanes that have a session."""
WITHOUT_SESSION: Final = {"airflow", "browser"}
"""Folders that import Airflow: lanes with a session do without, where there are others."""
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

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """One lane's, also of a lane in the place of a dead one: all may differ."""
        self.registered_collections[node] = [*collection]

    def schedule(self) -> None:
        """What the fewest lanes have collected comes first."""
        if self.collection is not None:
            super().schedule()
            return
        lanes = Counter(test for tests in self.registered_collections.values() for test in tests)
        self.collection = sorted(lanes, key=lambda test: lanes[test])
        self.config.pluginmanager.get_plugin("session").testscollected = len(self.collection)
        for test in self.collection:
            self.workqueue.setdefault(self._split_scope(test), {})[test] = False
        for node in self.nodes:
            self._assign_work_unit(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """The next one that the lane may have. Without one it ends behind what it has."""
        if time.monotonic() > self._until:
            for unit in [unit for unit in self.workqueue if _file(unit) in by_night()]:
                self._late += self.workqueue.pop(unit)
        lane = Place(int(node.gateway.id.removeprefix("gw")), self.numnodes)
        if (unit := next(filter(lane.may_have, self.workqueue), None)) is None:
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


class Place(NamedTuple):
    """Of a lane among the lanes, from 0 on. One in the place of a dead lane has a higher number, and
    is given what any lane may have had.
    """

    lane: int
    lanes: int

    def may_have(self, unit: str) -> bool:
        """Whether it is given what is there: a folder or a file below tests/, a test's id."""
        if self.lanes <= SESSIONS or self.lane >= self.lanes:
            return True
        if self.lane < SESSIONS:
            return _folder(unit) not in WITHOUT_SESSION
        return not needs_session(unit)


def collected_by(folder: str) -> tuple[bool, ...]:
    """Which lanes of an ordinary run collect its tests."""
    lanes = SESSIONS + 1
    return tuple(Place(lane, lanes).may_have(folder) for lane in range(lanes))


def here() -> Place:
    """This process's; without lanes it has all tests."""
    names = ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    return Place(*(int(os.environ.get(name, "0").removeprefix("gw")) for name in names))


def left(config: pytest.Config) -> list[str]:
    """The tests that a late run has left to the night."""
    return config.stash.get(LEFT, [])


def needs_session(unit: str) -> bool:
    """Whether a lane needs a session for it: a scope, or a test's id."""
    return _folder(unit) in WITH_SESSION


def _folder(unit: str) -> str:
    """The first below tests/."""
    return _file(unit).partition("/")[0]


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
