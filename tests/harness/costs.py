"""Costs: the processor seconds of each test file, with all processes that it started, in
tests/costs.json.

A lane's first test that needs Spark or a broker pays for their start. So a file's line is how much
it may cost, and no promise.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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
        self.spent[str(item.path.relative_to(TESTS))] += max(0, used() - before)
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


class Budget:
    """The plugin that says at a run's end what its lanes used, with all that they started."""

    def __init__(self) -> None:
        self.spent = 0.0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A lane has ended."""
        self.spent += getattr(node, "workeroutput", {}).get("spent", 0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A lane hands it on while its JVM still lives: nobody waits for that one."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["spent"] = used()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Shared servers are nobody's children."""
        servers = sum(map(used_by, pids()))
        spent = self.spent + servers if self.spent else used() + servers
        terminalreporter.write_line(f"{spent:,.0f} processor seconds; the budget is {BUDGET:,}")


if __name__ == "__main__":
    print(*cheap(float(sys.argv[1])))  # noqa: T201 - a command of the Makefile
