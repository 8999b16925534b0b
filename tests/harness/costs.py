"""Costs: the processor seconds of each test file, with all processes that it started, in
tests/costs.json.

A lane's first test that needs Spark or a broker pays for their start. So a file's line is how much
it may cost, and no promise.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.harness.shared import pids

TESTS: Final = Path(__file__).resolve().parents[1]
KEPT: Final = TESTS / "costs.json"
BY_NIGHT: Final = "also by night"
ASKED: Final = "SLUICE_COSTS"
"""keep: write the file anew; hold: fail where a file costs more than twice its line."""
TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
BUDGET: Final = 1300
"""Processor seconds of a whole run behind set-up, on a quiet machine."""
SLACK: Final = 10
"""Seconds beyond which a file is worth a word: a session's start is no more."""


def known() -> dict[str, float]:
    """File below tests/ -> its seconds when it was measured last."""
    return {file: cost for file, cost in _kept().items() if file != BY_NIGHT}


def by_night() -> set[str]:
    """Files of which `make test` has a short form of what other tests hold too: a run that is late
    leaves them to the night.
    """
    return {*_kept().get(BY_NIGHT, ())}


def file_of(item: pytest.Item) -> str:
    """Below tests/. By text: paths that are compared cost a lane's collection a second."""
    return str(item.path).removeprefix(f"{TESTS}/")


def folder_of(item: pytest.Item) -> str:
    """The first below tests/."""
    return file_of(item).partition("/")[0]


def shares(
    items: Sequence[pytest.Item], costs: Mapping[str, float], unknown: float = 0.0
) -> dict[pytest.Item, float]:
    """Each test that is not skipped, with its share of the seconds of its file: all have the same.
    `unknown`: the seconds of a file that nobody has measured.
    """
    run = [item for item in items if not any(m.args[0] for m in item.iter_markers("skipif"))]
    of = Counter(map(file_of, run))
    return {item: costs.get(file_of(item), unknown) / of[file_of(item)] for item in run}


def _kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


_COUNTED = [0.0]


def count(processes: Iterable[int]) -> None:
    """Add what these used, which are nobody's children, before they are ended."""
    _COUNTED[0] += sum(map(_own, processes))


def used() -> float:
    """Of this process with its children, those that ended and those that live, and what it counted."""
    return _COUNTED[0] + used_by(os.getpid())


def used_by(process: int) -> float:
    """Of a process with its children."""
    return _own(process) + sum(map(used_by, _children(process)))


def _own(process: int) -> float:
    """With its children that ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:  # it has just ended: its parent has its seconds
        return 0
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / TICKS


def _children(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            yield from map(int, task.read_text().split())
        except OSError:
            continue


def cheap(at_most: float) -> list[str]:
    """The cheapest files of tests/unit that cost no more together."""
    sum_, found = 0.0, []
    unit = {file: cost for file, cost in known().items() if file.startswith("unit/")}
    for file in sorted(unit, key=lambda file: unit[file]):
        sum_ += unit[file]
        if sum_ <= at_most and (TESTS / file).exists():
            found.append(f"{TESTS.name}/{file}")
    return found


def dearer(now: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """The files that cost more than twice their line, or have none."""
    return [
        f"{file}: {now[file]:.0f} s, its line is {kept.get(file, 0):.0f}"
        for file in sorted(now, key=lambda file: -now[file])
        if now[file] > 2 * kept.get(file, 0) + SLACK
    ]


class Costs:
    """The plugin, in each lane and in the process over them."""

    def __init__(self) -> None:
        self.spent = Counter[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        """A test, with the fixtures that it is the first to ask for."""
        before = used()
        done = yield
        self.spent[file_of(item)] += max(0, used() - before)
        return done

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A lane has ended."""
        self.spent.update(getattr(node, "workeroutput", {}).get(ASKED, {}))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand them on, or keep or hold them."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[ASKED] = dict(self.spent)
            return
        kept = known()
        if os.environ[ASKED] == "keep":
            now = kept | {file: round(cost, 1) for file, cost in self.spent.items()}
            lines = {file: now[file] for file in sorted(now) if (TESTS / file).exists()}
            lines = {BY_NIGHT: sorted(by_night())} | lines
            KEPT.write_text(json.dumps(lines, indent=1) + "\n")
        elif more := dearer(self.spent, kept):
            session.exitstatus = session.exitstatus or 1
            print("", *more, sep="\n")  # noqa: T201 - behind pytest's own lines


class Lane(NamedTuple):
    """What a lane has done, by its own clock in seconds since the epoch."""

    spent: float
    """Processor seconds, with all that it started."""
    first: float
    """When its first test began: up to then it collects."""
    last: float


class Budget:
    """The plugin that says at a run's end what its lanes used, with all that they started, and where
    their time went: a lane that waits, or has nothing left to do, costs minutes and no processor.
    """

    def __init__(self) -> None:
        self.began = self.first = time.time()
        self.lanes: dict[str, Lane] = {}

    def pytest_collection_finish(self) -> None:
        """What is next is the first test."""
        self.first = time.time()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A lane has ended."""
        if told := getattr(node, "workeroutput", {}).get("lane"):
            self.lanes[node.gateway.id] = Lane(*told)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A lane hands it on while its JVM still lives: nobody waits for that one."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["lane"] = (used(), self.first, time.time())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Shared servers are nobody's children."""
        servers = sum(map(used_by, pids()))
        spent = servers + (sum(lane.spent for lane in self.lanes.values()) or used())
        terminalreporter.write_line(f"{spent:,.0f} processor seconds; the budget is {BUDGET:,}")
        if not self.lanes:
            return
        end = max(lane.last for lane in self.lanes.values())
        terminalreporter.write_line(f"{servers:,.0f} of them the servers', that lanes share")
        for name, lane in sorted(self.lanes.items()):
            terminalreporter.write_line(
                f"{name}: {lane.spent:,.0f} of them; {lane.first - self.began:.0f} s until its "
                f"first test, {lane.last - lane.first:.0f} s of tests, {end - lane.last:.0f} s idle"
            )


if __name__ == "__main__":
    print(*cheap(float(sys.argv[1])))  # noqa: T201 - a command of the Makefile
