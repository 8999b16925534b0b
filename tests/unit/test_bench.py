"""The benchmark's own reckoning: what its figures are made of; wrong results count nothing."""

import io
import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from rich.console import Console

from bench import group_state, oracle, process, results, workload
from bench.arms import TOPIC, Drained
from bench.process import Cost
from bench.results import Measure
from bench.rounds import Target, costs
from local import flights, ledger
from local.deliveries import CLEAN, deliver
from local.flights import FlightEvent
from tests.harness.ran import ran

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MEASURES = [
    Measure.faster("records/s", "script", 4, [100.0, 300.0, 200.0], [20.0, 50.0, 80.0]),
    Measure.less("seconds", "script", 8, [2.0, 1.0], [6.0, 4.0]),
    Measure.fraction("nothing new", "script", 0.3, [1.0, 2.0, 3.0], [10.0, 10.0, 10.0]),
    Measure.share("audit", 0.15, [0.1, 0.2, 0.3]),
    Measure.memory("GB", "script", 4, [1.0, 3.5], [2.0, 2.0]),
    Measure.less("no target", "script", None, [1.0], [2.0]),
    Measure.limit("megabytes", 40, [41.0, 39.0, 38.0], "MB"),
    Measure.count("tables", 3, [2]),
]


@pytest.mark.parametrize(
    ("measure", "value", "reached"),
    [
        *zip(
            MEASURES,
            [5.0, 3.5, 0.2, 20.0, 3.5, 2.0, 39.0, 2.0],
            [True, False, True, False, True, None, True, False],
            strict=True,
        )
    ],
)
def test_a_measure_is_held_against_its_target_by_the_median_of_its_pairs_and_memory_by_the_largest(
    measure, value, reached
):
    assert measure.value == pytest.approx(value)
    assert measure.reached is reached


def test_every_value_and_its_verdict_is_in_the_file_and_the_table_says_the_same(tmp_path):
    path = results.write(MEASURES, tmp_path / "bench", {"events": 1000}, load_before=0.25)
    told = json.loads(path.read_text())
    assert told["parameters"] == {"events": 1000}
    assert set(told["machine"]) == {"cores", "system", "python", "load_before"}
    assert told["machine"]["load_before"] == 0.25
    assert told["whole"] is True
    assert [
        (row["work"], row["rival"], row["against"], row["reached"]) for row in told["measures"]
    ] == [(measure.work, measure.rival, measure.against, measure.reached) for measure in MEASURES]

    out = io.StringIO()
    Console(file=out, width=200).print(results.table(MEASURES))
    lines = {
        line.split("│")[1].strip(): line
        for line in out.getvalue().splitlines()
        if line.startswith("│")
    }
    assert set(lines) == {measure.work for measure in MEASURES}
    assert "5.00x (2.50 to 6.00)" in lines["records/s"]
    assert "at least 4" in lines["records/s"]
    assert "20.00 % (10.00 to 30.00)" in lines["audit"]
    assert "39.00 MB (38.00 to 41.00)" in lines["megabytes"]
    assert "2 (2 to 2)" in lines["tables"]
    for measure in MEASURES:
        verdict = {True: "reached", False: "not reached", None: ""}[measure.reached]
        assert lines[measure.work].split("│")[-2].strip() == verdict


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([], ""),
        ([2.0], "2.00"),
        ([3.0, 1.0, 2.0], "2.00 (1.00 to 3.00)"),
        ([4.0, 1.0, 2.0, 3.0], "2.50 (1.00 to 4.00)"),
        ([1000.0, 2000.4, 99.0], "1,000 (99 to 2,000)"),
    ],
)
def test_a_cell_has_the_median_and_where_there_are_several_values_the_smallest_and_the_largest(
    values, says
):
    assert results.spread(values) == says


def drained(query: float, process_: float, cpu: float, gigabytes: float) -> Drained:
    return Drained(query, Cost(process_, cpu, round(gigabytes * 2**30)))


def test_each_rival_has_four_rows_of_pairs_from_the_same_rounds_and_its_own_targets() -> None:
    rounds = [
        {
            "Sluice": drained(1, 2, 4, 1.5),
            "expert": drained(2, 6, 4, 1),
            "batch": drained(1, 1, 1, 2),
        },
        {
            "Sluice": drained(2, 2, 5, 2.5),
            "expert": drained(6, 2, 10, 1),
            "batch": drained(1, 1, 1, 2),
        },
    ]
    targets = {"expert": Target(query=2.0, cpu=1.6), "batch": Target()}
    rows = {(row.work, row.rival): row for row in costs("a load", rounds, "Sluice", targets)}
    assert {key: (row.ratios, row.target) for key, row in rows.items()} == {
        ("a load: query seconds", "expert"): ([2.0, 3.0], 2.0),
        ("a load: query seconds", "batch"): ([1.0, 0.5], None),
        ("a load: process seconds", "expert"): ([3.0, 1.0], None),
        ("a load: process seconds", "batch"): ([0.5, 0.5], None),
        ("a load: processor seconds", "expert"): ([1.0, 2.0], 1.6),
        ("a load: processor seconds", "batch"): ([0.25, 0.2], None),
        ("a load: memory, GB at most", "expert"): ([1.5, 2.5], 3),
        ("a load: memory, GB at most", "batch"): ([1.5, 2.5], 3),
    }
    assert rows["a load: query seconds", "expert"].against == [2, 6]


def test_a_table_of_a_run_that_was_cut_off_is_written_and_says_so(tmp_path: Path) -> None:
    told = json.loads(results.write(MEASURES[:1], tmp_path, {}, whole=False).read_text())
    assert told["whole"] is False
    assert len(told["measures"]) == 1


RIGHT = [(0, 2, 15.5, 21), (1, 1, 3.0, 3)]
"""Hour after NOON, flights, mean and largest delay, worked out by hand from what `sent` sends."""


@pytest.fixture
def sent(tmp_path: Path) -> Path:
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


def test_a_table_that_is_duckdbs_counts(sent: Path, tmp_path: Path) -> None:
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
def test_a_table_that_is_not_duckdbs_counts_for_nothing_and_the_arm_is_named(
    sent, tmp_path, rows, says
):
    with pytest.raises(oracle.WrongResult, match=f"^baseline: {says}"):
        oracle.hold(written(tmp_path / "table", rows), sent, "baseline")


def test_windows_that_a_longer_delay_keeps_open_are_no_rows(sent: Path, tmp_path: Path) -> None:
    """The last departure is ten hours after NOON."""
    table = written(tmp_path / "table", RIGHT[:1])
    assert oracle.hold(table, sent, "Sluice", oracle.delays(timedelta(minutes=8 * 60 + 1))) == 1
    with pytest.raises(oracle.WrongResult, match="1 of 2 rows are missing"):
        oracle.hold(table, sent, "Sluice", oracle.delays(timedelta(hours=8)))


def test_the_tallies_of_group_state_are_held_key_by_key(tmp_path, monkeypatch):
    monkeypatch.setattr(flights, "ROUND", timedelta(weeks=1))
    sent = [*group_state.events(3, 4)]
    keys = Counter(event.tail_number for event in sent)
    assert keys == {"K000000": 4, "K000001": 4, "K000002": 4}
    records = deliver(sent, CLEAN)
    places = [(0, offset) for offset in range(len(records))]
    ledger.write(tmp_path / "ledger", 1, TOPIC, records, places)
    # 0 + 3 + 6 + 9, and so on: minutes are the event's number.
    right = {"tail_number": [*keys], "records": [4, 4, 4], "minutes": [18, 22, 26]}
    deltalake.write_deltalake(str(tmp_path / "right"), pa.table(right))
    held = (tmp_path / "ledger", "row API", oracle.TALLIES)
    assert oracle.hold(tmp_path / "right", *held) == 3
    deltalake.write_deltalake(str(tmp_path / "wrong"), pa.table(right | {"minutes": [18, 22, 27]}))
    with pytest.raises(oracle.WrongResult, match="1 of 3 rows are missing"):
        oracle.hold(tmp_path / "wrong", *held)


def test_a_process_that_fails_is_not_measured_and_one_that_ends_well_costs_what_it_takes(tmp_path):
    cost = process.run([sys.executable, "-c", BUSY], {}, tmp_path / "busy.log", tmp_path)
    assert 0.6 <= cost.cpu_seconds < 1.2
    assert cost.seconds >= 0.6
    assert cost.peak_bytes > 80_000_000
    assert cost.unwaited_seconds == 0
    with pytest.raises(process.ProcessFailed, match=r"(?s)ended with status 3.*what went wrong"):
        process.run(
            ["/bin/sh", "-c", "echo what went wrong; exit 3"], {}, tmp_path / "failed.log", tmp_path
        )


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
def test_the_processor_seconds_and_the_memory_of_a_child_count_whoever_waits_for_it(
    parent, tmp_path
):
    """A look may be SAMPLE_SECONDS old when a process ends, and later on a busy machine."""
    cost = process.run([sys.executable, "-c", parent], {}, tmp_path / "log", tmp_path)
    assert 0.3 <= cost.cpu_seconds < 1.3, "each second once"
    assert cost.peak_bytes > 80_000_000
    assert cost.unwaited_seconds == 0 or parent == PARENTS["removed by the kernel"]


def test_what_ran_before_the_measured_process_is_no_part_of_it(tmp_path: Path) -> None:
    """By its memory: how much of a processor a busy process gets, nobody can say."""
    large = "held = bytearray(400_000_000); print(flush=True); input()"
    words = [sys.executable, "-c", large]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as broker:
        assert broker.stdout
        assert broker.stdout.readline()
        cost = process.run([sys.executable, "-c", BUSY], {}, tmp_path / "log", tmp_path)
        broker.communicate(b"\n")
    assert 80_000_000 < cost.peak_bytes < 400_000_000


DAEMON = """
import os, socket, subprocess, sys
import psutil
from pyspark.serializers import read_int, write_with_length
secret = "secret"
daemon = subprocess.Popen(
    [sys.executable, "-m", "pyspark.daemon", "pyspark.ml"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    env={**os.environ, "PYTHON_WORKER_FACTORY_SECRET": secret},
)
asked = socket.create_connection(("127.0.0.1", read_int(daemon.stdout)))
with asked, asked.makefile("rwb") as stream:
    write_with_length(secret.encode(), stream)
    stream.flush()
    worker = psutil.Process(read_int(stream))
    psutil.wait_procs([worker], timeout=60)
print("ended before its daemon:", not worker.is_running() and daemon.poll() is None)
daemon.stdin.close()
daemon.wait()
"""
"""PySpark's own daemon forks a worker that imports this module, slowly, and then ends."""


def test_the_seconds_of_a_python_worker_of_spark_count_though_its_daemon_waits_for_none(tmp_path):
    log = tmp_path / "log"
    cost = process.run([sys.executable, "-c", DAEMON], {}, log, tmp_path)
    assert "ended before its daemon: True" in log.read_text()
    assert 0.2 <= cost.unwaited_seconds <= cost.cpu_seconds


def test_deliveries_leave_out_what_the_two_arms_must_treat_differently(monkeypatch):
    """Some of everything that they do not: duplicates, and records that both refuse."""
    monkeypatch.setattr(flights, "ROUND", timedelta(weeks=1))
    first, *later = workload.deliveries(2000, 2, 500)
    records = [record for part in (first, *later) for record in part]
    assert len(later) == 2
    assert sum(record.event is not None and record.kind == "good" for record in records) == 3000
    assert {record.kind for record in records} == {"good", "duplicate", "malformed"}
    assert not any(record.delayed for record in records)
    assert {
        record.reason for record in records if record.kind == "malformed"
    } <= workload.REFUSED_BY_BOTH


def test_the_command_names_its_options_and_starts_nothing_for_its_help() -> None:
    done = ran(sys.executable, "-m", "bench", "--help")
    assert done.returncode == 0, done.stderr
    options = "records later size repetitions idle repaired group-state only keep"
    assert {f"--{name}" for name in options.split()} <= {*done.stdout.split()}
