"""The benchmark's own reckoning: what its figures are made of; wrong results count nothing."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from bench import oracle, process
from bench.arms import TOPIC
from local import ledger
from local.deliveries import CLEAN, deliver
from local.flights import FlightEvent

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


RIGHT = [(0, 2, 15.5, 21), (1, 1, 3.0, 3)]
"""Hour after NOON, flights, mean and largest delay, worked out by hand from what `sent` sends."""


@pytest.fixture
def sent(tmp_path) -> Path:
    """The ledger of four departures, each delivered twice: two in an hour, one that closes."""
    flight = ("AA", 1, None, "JFK", "SFO")
    departures = [
        FlightEvent(
            f"e{n}", "departure", NOON + timedelta(minutes=at), NOON, *flight, late, False, 9
        )
        for n, (at, late) in enumerate(((5, 10), (6, 21), (65, 3), (600, 0)))
    ]
    records = deliver(departures, CLEAN.model_copy(update={"duplicate_share": 1.0}))
    ledger.write(
        tmp_path / "ledger", 1, TOPIC, records, [(0, offset) for offset in range(len(records))]
    )
    return tmp_path / "ledger"


def written(table: Path, rows: list[tuple[int, int, float, int]]) -> Path:
    """A table as an arm leaves it."""
    starts = [NOON + timedelta(hours=hour) for hour, *_ in rows]
    moment = pa.timestamp("us", "UTC")
    deltalake.write_deltalake(
        str(table),
        pa.table(
            {
                "window_start": pa.array(starts, moment),
                "window_end": pa.array([start + timedelta(hours=1) for start in starts], moment),
                "carrier": ["AA"] * len(rows),
                "origin": ["JFK"] * len(rows),
                "flights": pa.array([row[1] for row in rows], pa.int64()),
                "mean_delay_minutes": [row[2] for row in rows],
                "max_delay_minutes": pa.array([row[3] for row in rows], pa.int32()),
                "cancellations": pa.array([0] * len(rows), pa.int64()),
            }
        ),
    )
    return table


def test_a_table_that_is_duckdbs_counts(sent, tmp_path):
    assert oracle.hold(written(tmp_path / "table", RIGHT), sent, "baseline") == 2


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (RIGHT[:1], "1 of 2 rows are missing from .* and 0 are too many"),
        ([*RIGHT, RIGHT[0]], "0 of 2 rows are missing from .* and 1 are too many"),
        ([RIGHT[0], (1, 2, 3.0, 3)], "1 of 2 rows are missing from .* and 1 are too many"),
        ([RIGHT[0], (1, 1, 3.00001, 3)], "1 of 2 rows are missing from .* and 1 are too many"),
        ([*RIGHT, (10, 1, 0.0, 0)], "0 of 2 rows are missing from .* and 1 are too many"),
    ],
    ids=["missing", "doubled", "another count", "another mean", "a window that is open"],
)
def test_a_table_that_is_not_duckdbs_counts_nothing_and_an_arm_is_named(sent, tmp_path, rows, says):
    with pytest.raises(oracle.WrongResult, match=f"^baseline: {says}"):
        oracle.hold(written(tmp_path / "table", rows), sent, "baseline")


BUSY = "import time; held = bytearray(80_000_000)\nwhile time.process_time() < 0.6: pass"
CHILD = f"child = subprocess.Popen([sys.executable, '-c', {BUSY!r}])"
PARENTS = {
    "waited for": f"import subprocess, sys; {CHILD}; child.wait()",
    "orphaned": f"import subprocess, sys; {CHILD}",
    "orphaned in a session of its own": (
        f"import subprocess, sys; {CHILD[:-1]}, start_new_session=True)"
    ),
    # As PySpark's daemon has its workers: wait() gives ECHILD, once the last child has ended.
    "removed by the kernel": (
        "import os, signal, subprocess, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        f"{CHILD}\ntry: os.wait()\nexcept ChildProcessError: pass"
    ),
}


@pytest.mark.parametrize("parent", PARENTS.values(), ids=PARENTS)
def test_the_seconds_and_the_memory_of_a_child_count_whoever_waits_for_it(parent, tmp_path):
    """A look may be SAMPLE_SECONDS old when a process ends, and later on a busy machine."""
    cost = process.run([sys.executable, "-c", parent], {}, tmp_path / "log", tmp_path)
    assert 0.3 <= cost.cpu_seconds < 1.3, "each second once"
    assert cost.peak_bytes > 80_000_000
    assert cost.unwaited_seconds == 0 or parent == PARENTS["removed by the kernel"]
