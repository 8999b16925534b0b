"""How the tests are laid over lanes (pytest-xdist), each with a Spark session and a broker of its
own where it needs them.

A test goes to whichever lane is free. Those of one file stay together where they share what takes
long to make, and so do those of a folder that start, kill and time processes: they have no other of
their kind beside them. Those of Airflow share its imports, its database and its server.
"""

import atexit
import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from spark_jobs.settings.installation import VARIABLES

for _name in VARIABLES:
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
LONGEST_FIRST = (
    "stack",
    "e2e",
    "browser",
    "cluster",
    "faults",
    "store",
    "airflow",
    "seams",
    "spark",
    "simulation",
    "unit",
    "examples",
)
A_LANE_EACH = ("stack", "e2e", "browser", "cluster", "faults", "store", "airflow")
TOGETHER = (
    "spark/test_repair.py",
    "spark/test_state.py",
    "spark/test_doctor.py",
    "spark/test_equal_tables.py",
    "spark/test_failpoints.py",
    "spark/test_safety.py",
    "spark/test_reset.py",
    "spark/test_logic.py",
    "unit/test_cursor_repair.py",
    "unit/test_days.py",
    "unit/test_flights.py",
    "unit/test_deliveries.py",
    "unit/test_files_jar.py",
    "unit/test_maintain.py",
    "unit/test_rewind.py",
    "unit/test_switch.py",
    "examples/test_examples.py",
)


class Lanes(LoadScopeScheduling):
    """xdist's own loadgroup marks a test's id, and cannot where pytest is 9.2 or newer."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0].removeprefix(f"{HERE.name}/")
        folder = file.partition("/")[0]
        if folder in A_LANE_EACH:
            return folder
        return file if file in TOGETHER else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    """For every run with -n, in the process that collects nothing itself."""
    gc.enable()
    return Lanes(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each lane begins at another file of a folder, and finds most compiled by the others."""
    report = yield
    if isinstance(collector, pytest.Directory) and collector.path != HERE:
        lane, lanes = (
            int(os.environ.get(f"PYTEST_XDIST_WORKER{name}", "0").removeprefix("gw"))
            for name in ("", "_COUNT")
        )
        first = len(report.result) * lane // max(lanes, 1)
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that lanes end together; within a folder by name."""
    items.sort(
        key=lambda item: (LONGEST_FIRST.index(item.path.relative_to(HERE).parts[0]), item.path)
    )


def pytest_collection_finish() -> None:
    """What was imported stays to the end: no test's garbage collection looks through it."""
    sys.dont_write_bytecode = _WRITES_NONE
    gc.freeze()
    # Or libraries say at the end that they leak. After pytest's own look for garbage, twice a lane.
    atexit.register(gc.unfreeze)
    gc.enable()
