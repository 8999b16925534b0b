"""What all tests have in common: no installation of this user, and lanes (harness/lanes.py)."""

import atexit
import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from xdist.remote import Producer

from spark_jobs.settings.variables import VARIABLES
from tests.harness import patience, shared
from tests.harness.budget import Budget
from tests.harness.costs import ASKED, Costs, folder_of, known, shares
from tests.harness.lanes import Lanes, end_without_jvm, here, left, ordered
from tests.harness.turns import ALIKE, VARIABLE, by_turns

for _name in (*VARIABLES, "SLUICE_PROJECT", "SLUICE_ENV"):
    os.environ.pop(
        _name, None
    )  # this user's own installation, whose Kafka would be written to, and whose root read

# No test leaves a worker, or finds another's; those of warm runs set it.
os.environ["SLUICE_WARM"] = "off"

# delta-rs hands the work on small tables from thread to thread: a fifth of their processor time.
os.environ.setdefault("TOKIO_WORKER_THREADS", "1")

# Nothing that is imported while tests are collected becomes garbage: looking for it took a quarter
# of a lane's collection.
gc.disable()
# What one lane has compiled, the others read. Only while they collect: a test that writes a module
# anew within a second must not get the old one's bytecode.
_WRITES_NONE, sys.dont_write_bytecode = sys.dont_write_bytecode, False

HERE = Path(__file__).parent
LIBRARIES_WARN = {"spark", "seams", "store"}
"""Folders in which Great Expectations, pandas and py4j warn while they load and close: shown, and no
errors.
"""


def pytest_configure(config: pytest.Config) -> None:
    patience.measure()
    shared.register(config)
    config.addinivalue_line("markers", f"{ALIKE}(promise): forms of one thing (harness/turns.py)")
    config.pluginmanager.register(Budget())
    if ASKED in os.environ:
        config.pluginmanager.register(Costs())


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    """For every run with -n, in the process that collects nothing itself."""
    gc.enable()
    return Lanes(config, log)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A lane without a session does not import its tests, nor those with one Airflow."""
    return None if here().may_have(str(collection_path).removeprefix(f"{HERE}/")) else True


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each lane begins at another file of a folder, and finds most compiled by the others."""
    report = yield
    if isinstance(collector, pytest.Directory) and collector.path != HERE:
        lane, lanes = here()
        first = len(report.result) * lane // max(lanes, 1)
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def pytest_report_header() -> list[str]:
    said = [f"limits of waits: {patience.patient(1):.1f} times those of a quiet machine"]
    if day := os.environ.get(VARIABLE):
        more = "make test-long has all"
        said += [f"dear tests have the forms of day {day}: TURN={day} runs the same; {more}"]
    return said


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for test in left(terminalreporter.config):
        terminalreporter.write_line(f"left to the night, as this run is late: {test}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    costs = shares(items, known(), unknown=30)  # it may be dear: not at the end
    by_turns(config, items)
    for item in items:
        if folder_of(item) in LIBRARIES_WARN:
            item.add_marker(pytest.mark.filterwarnings("default"))
    ordered(items, costs)


def pytest_runtest_setup(item: pytest.Item) -> None:
    end_without_jvm(item.config)


def pytest_collection_finish() -> None:
    """What was imported stays to the end: no test's garbage collection looks through it."""
    sys.dont_write_bytecode = _WRITES_NONE
    gc.freeze()
    # Or libraries say at the end that they leak. After pytest's own look for garbage, twice a lane.
    atexit.register(gc.unfreeze)
    gc.enable()
