"""Budget: what a run's lanes used, of what they may, and where their time went."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

import pytest

from tests.harness.costs import used, used_by
from tests.harness.shared import pids

BUDGET: Final = 1300
"""Processor seconds of a whole run behind set-up, on a quiet machine."""


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
