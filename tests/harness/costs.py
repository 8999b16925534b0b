"""Costs: the processor seconds of each test file, with all processes that it started, in
tests/costs.json; and those of each dear test, without what it makes for several.

A lane's first test that needs Spark or a broker pays for their start. So a file's line is how much
it may cost, and no promise.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import pytest

TESTS: Final = Path(__file__).resolve().parents[1]
KEPT: Final = TESTS / "costs.json"
BY_NIGHT: Final = "also by night"
DEAR: Final = "dear tests"
DEAR_SECONDS: Final = 2.0
"""From so many on a test has a line of its own."""
ASKED: Final = "SLUICE_COSTS"
"""keep: write the file anew; hold: fail where a file costs more than twice its line."""
TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
SLACK: Final = 10
"""Seconds beyond which a file is worth a word: a session's start is no more."""


class Known(NamedTuple):
    """Seconds when they were measured last."""

    files: Mapping[str, float]
    """By file below tests/."""
    tests: Mapping[str, float] = {}
    """The dear ones, by id below tests/."""


def known() -> Known:
    """What tests/costs.json says."""
    kept = _kept()
    tests = kept.pop(DEAR, {})
    kept.pop(BY_NIGHT, None)
    return Known(kept, tests)


def by_night() -> set[str]:
    """Files of which `make test` has a short form of what other tests hold too: a run that is late
    leaves them to the night.
    """
    return {*_kept().get(BY_NIGHT, ())}


def file_of(item: pytest.Item) -> str:
    """Below tests/. By text: paths that are compared cost a lane's collection a second."""
    return str(item.path).removeprefix(f"{TESTS}/")


def id_of(item: pytest.Item) -> str:
    """Below tests/."""
    return item.nodeid.removeprefix(f"{TESTS.name}/")


def folder_of(item: pytest.Item) -> str:
    """The first below tests/."""
    return file_of(item).partition("/")[0]


def shares(
    items: Sequence[pytest.Item], costs: Known, unknown: float = 0.0
) -> dict[pytest.Item, float]:
    """Each test that is not skipped, with its seconds: its own line's, or an equal share of what
    such lines leave of its file. `unknown`: the seconds of a file that nobody has measured.
    """
    run = [item for item in items if not any(m.args[0] for m in item.iter_markers("skipif"))]
    dear = {item: costs.tests[id_of(item)] for item in run if id_of(item) in costs.tests}
    others = Counter(file_of(item) for item in run if item not in dear)
    own: defaultdict[str, list[float]] = defaultdict(list)
    for item, seconds in dear.items():
        own[file_of(item)].append(seconds)
    share = {
        file: max(0, costs.files.get(file, unknown) - math.fsum(own[file])) / count
        for file, count in others.items()
    }
    return {item: dear[item] if item in dear else share[file_of(item)] for item in run}


def _kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


T = TypeVar("T")
_COUNTED = [0.0]
_FOR_SEVERAL = [0.0]
"""Of the test at work."""


def count(processes: Iterable[int]) -> None:
    """Add what these used, which are nobody's children, before they are ended. They served several
    tests.
    """
    seconds = sum(map(_own, processes))
    _COUNTED[0] += seconds
    _FOR_SEVERAL[0] += seconds


@contextmanager
def for_several() -> Iterator[None]:
    """What is made within the block, several tests use: no one's line has it."""
    if ASKED not in os.environ:
        yield
        return
    before, inner = used(), _FOR_SEVERAL[0]
    try:
        yield
    finally:
        _FOR_SEVERAL[0] = inner + max(0, used() - before)


def made_once(make: Callable[[str], T]) -> Callable[[str], T]:
    """functools.cache, of what several tests use."""

    @cache
    def made(name: str) -> T:
        with for_several():
            return make(name)

    return made


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
    unit = {file: cost for file, cost in known().files.items() if file.startswith("unit/")}
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
        self.spent, self.tests = Counter[str](), Counter[str]()
        self.failed = set[str]()
        self.lost = False

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """One of a wider scope is for several tests."""
        with nullcontext() if fixturedef.scope == "function" else for_several():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        """A test."""
        before, _FOR_SEVERAL[0] = used(), 0.0
        done = yield
        seconds = max(0, used() - before)
        self.spent[file_of(item)] += seconds
        self.tests[id_of(item)] = seconds - _FOR_SEVERAL[0]
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The cost of a test that fails says nothing."""
        if report.failed:
            self.failed.add(_file(report.nodeid.removeprefix(f"{TESTS.name}/")))

    def pytest_keyboard_interrupt(self) -> None:
        """Cut off, also by pytest.exit."""
        self.lost = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A lane has ended; one that died hands nothing on."""
        told = getattr(node, "workeroutput", {}).get(ASKED)
        self.lost = self.lost or told is None
        for mine, its in zip((self.spent, self.tests), told or ({}, {}), strict=True):
            mine.update(its)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand them on, or keep or hold them."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[ASKED] = (dict(self.spent), dict(self.tests))
            return
        if os.environ[ASKED] == "keep":
            self._keep(session)
        elif more := dearer(self.spent, known().files):
            session.exitstatus = session.exitstatus or 1
            print("", *more, sep="\n")  # noqa: T201 - behind pytest's own lines

    def _keep(self, session: pytest.Session) -> None:
        ends = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        if not ends or self.lost or session.shouldfail or session.shouldstop:
            session.exitstatus = session.exitstatus or 1
            print(f"\n{KEPT.name} stays as it was: the run did not come to its end")  # noqa: T201
            return
        files = {file: cost for file, cost in self.spent.items() if file not in self.failed}
        tests = {test: cost for test, cost in self.tests.items() if _file(test) not in self.failed}
        now = {BY_NIGHT: sorted(by_night())} | lines(known(), files, tests)
        KEPT.write_text(json.dumps(now, indent=1) + "\n")
        if self.failed:
            print(f"\nNot in {KEPT.name}, as a test of them failed:", *sorted(self.failed))  # noqa: T201


def lines(
    before: Known, files: Mapping[str, float], tests: Mapping[str, float]
) -> dict[str, float | dict[str, float]]:
    """What was measured now, of files and of tests; and what was before of files that were not."""
    of_each = {**before.files} | {file: round(cost, 1) for file, cost in files.items()}
    of_dear = {test: cost for test, cost in before.tests.items() if _file(test) not in files}
    of_dear |= {test: round(cost, 1) for test, cost in tests.items() if cost >= DEAR_SECONDS}
    return {
        **{file: of_each[file] for file in sorted(of_each) if (TESTS / file).exists()},
        DEAR: {test: of_dear[test] for test in sorted(of_dear) if (TESTS / _file(test)).exists()},
    }


def _file(test: str) -> str:
    return test.partition("::")[0]


if __name__ == "__main__":
    print(*cheap(float(sys.argv[1])))  # noqa: T201 - a command of the Makefile
