"""Faults of the machine under real drains: one line says why, and the next makes all right."""

import contextlib
import json
import os
import signal
import subprocess
import time
from importlib import import_module

import deltalake
import psutil
import pytest

from local import broker, jvm
from spark_jobs.errors import LeaseHeld, RunStalled, by_code
from spark_jobs.storage.root.paths import report_path
from tests.harness import oracle, verifier
from tests.harness.broker import JARS, start_again
from tests.harness.long_form import LONG, long_form
from tests.harness.process import Running, lives
from tests.harness.refused import because, has
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a fault of the machine"),
]
SMALL = "-XX:MaxMetaspaceSize=26m"
"""Spark starts with so much, and its first query needs more."""
SPARE_KIB, SMALL_KIB = (0, 300), 60
"""Left of a full disk: a drain ends at one place or another."""


def rotations(kafka: str, folder) -> Scene:
    """A pipeline with state in the JVM and in Python."""
    return Scene(kafka, folder, "aircraft_rotations", events=3000, deliveries=5, stores=1)


@pytest.fixture
def scene(kafka, spark, tmp_path):
    return rotations(kafka, tmp_path)


@pytest.fixture
def plain(kafka, spark, tmp_path):
    """A pipeline with state in the JVM alone, for faults that do not look at state."""
    return Scene(kafka, tmp_path, "flight_events", events=3000, deliveries=5, stores=1)


def mends(scene: Scene, run_id: str = "next") -> None:
    """The next drain ends well, and everything is exact."""
    scene.run(run_id)
    scene.assert_exact()


def ended_loud(running: Running, said: str, *codes: str) -> None:
    """It failed with one of these codes and its status, and says that, without a stack trace."""
    status = running.end()
    assert running.report is not None, running.said
    assert running.report.problem.code in codes, running.report.problem
    assert status == by_code(running.report.problem.code).exit_status
    assert "\tat " not in running.said
    assert "Traceback" not in running.said
    assert said in running.said


def ended_well_or_for_want_of_kafka(running: Running) -> None:
    """Whether the client has more patience than the broker is away is Kafka's affair."""
    if running.end():
        assert running.report.problem.code in {"SPARK_FAILED", "PROCESS_DIED", "KAFKA_UNREACHABLE"}


def test_a_python_worker_that_is_killed_fails_the_batch_and_it_is_repeated(scene, tmp_path):
    scene.deliver()
    running = Running(
        scene, tmp_path, "killed", "table.committed=wait"
    )  # it ends in the batch, or is held there
    running.wait_for(running.has_planned, "a batch")
    running.wait_for(lambda: any(running.processes("workers")), "a worker")
    struck = 0

    def strike() -> bool:
        nonlocal struck
        for worker in running.processes("workers"):
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
                struck += 1
        return running.is_held("table.committed")

    running.wait_for(strike, "the end of a drain without workers")
    assert struck, "it ended before"
    assert not running.is_held("table.committed"), "the batch went on without its workers"
    ended_loud(running, "Python workers died", "PROCESS_DIED")
    mends(scene)


def _stay_away() -> None:
    """The fault is a length of time: nothing else tells a client that it still waits."""
    time.sleep(float(os.environ.get("SLUICE_PAUSE_SECONDS", "3")))


@long_form
def test_a_broker_that_is_killed_in_a_drain_and_started_again(own_kafka, spark, tmp_path):
    address = broker.start(own_kafka, JARS)
    scene = rotations(address, tmp_path)
    scene.deliver()
    scene.run("first")
    scene.deliver()
    running = Running(scene, tmp_path, "without", "planned=wait")
    running.hold("planned")
    jvm.process(own_kafka).kill()
    assert jvm.gone(own_kafka, 30)
    running.let_go("planned")
    _stay_away()
    assert running.process.poll() is None, "it looks for the broker"
    start_again(own_kafka, address)
    ended_well_or_for_want_of_kafka(running)
    scene.deliver()
    mends(scene)


@long_form
def test_a_broker_that_stands_still_for_a_while_is_waited_for(own_kafka, spark, tmp_path):
    scene = rotations(broker.start(own_kafka, JARS), tmp_path)
    scene.deliver()
    running = Running(scene, tmp_path, "paused", "planned=wait")
    running.hold("planned")
    process = jvm.process(own_kafka)
    process.suspend()
    try:
        running.let_go("planned")
        _stay_away()
        assert running.process.poll() is None, "it has waited"
        assert not running.checkpoint.committed(), "it has read nothing"
    finally:
        process.resume()
    ended_well_or_for_want_of_kafka(running)
    scene.deliver()
    mends(scene)


def test_a_full_disk_ends_the_drain_and_space_lets_the_next_go_on(plain, tmp_path):
    disk = tmp_path / ROOT
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "sluice-test", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip(
            "this user may not mount a small disk: not tested is that a drain on a full one says "
            "so, and harms nothing"
        )
    try:
        plain.deliver()
        mends(plain, "first")
        for spare in (*SPARE_KIB, SMALL_KIB) if LONG else (SMALL_KIB,):
            _fill(disk / "ballast", spare)
            plain.deliver()
            problem = plain.drain(f"full-{spare}").problem
            assert problem is not None or spare != SMALL_KIB, "the disk was not full"
            assert problem is None or problem.code in {"ROOT_NOT_WRITABLE", "DISK_FULL"}, problem
            (disk / "ballast").unlink()
        if LONG:
            _fill(disk / "ballast", SMALL_KIB)
            plain.deliver()
            running = Running(plain, tmp_path, "full")
            ended_loud(running, "pace", "ROOT_NOT_WRITABLE", "DISK_FULL")
            (disk / "ballast").unlink()
        mends(plain)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(path, spare_kib: int) -> None:
    """Write until nothing is left, and give that much back."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 1024):
            pass
    os.truncate(path, max(0, path.stat().st_size - spare_kib * 1024))


def test_a_finished_task_that_is_cleared_and_run_again_changes_nothing(plain):
    plain.deliver()
    mends(plain, "task")
    version = deltalake.DeltaTable(str(plain.paths.table)).version()
    mends(plain, "task")
    assert deltalake.DeltaTable(str(plain.paths.table)).version() == version


def test_of_several_triggers_at_once_one_has_the_lease_and_where_its_task_is_killed_the_next_drains(
    plain, tmp_path
):
    """One other is this process; SLUICE_TRIGGERS says how many there are beside it."""
    plain.deliver()
    first = Running(plain, tmp_path, "trigger-0", "leased=wait")
    first.hold("leased")
    others = [
        Running(plain, tmp_path, f"trigger-{number}")
        for number in range(1, int(os.environ.get("SLUICE_TRIGGERS", "1")))
    ]
    refused = [plain.drain("here"), *(other.report for other in others if other.end())]
    assert len(refused) == 1 + len(others)
    for report in refused:
        because(report.problem, LeaseHeld, "held_by_drain", holder=has("run trigger-0 (process "))
    assert sum(report.account.read for report in refused) == 0
    assert first.is_held("leased"), "and none has disturbed it"

    [orphan] = first.processes("driver")
    # The submitter alone: its driver lives on, and has the lease.
    os.kill(first.process.pid, signal.SIGKILL)
    first.end()
    first.wait_until(lambda: not lives(orphan.pid), "the end of the driver")
    mends(plain)


@pytest.fixture
def impatient(kafka, spark, tmp_path, monkeypatch):
    """A pipeline that gives up after 15 seconds."""
    spec = import_module("tests.harness.pipelines.impatient.spec").SPEC
    monkeypatch.setitem(oracle.RESULTS, spec.name, oracle.RESULTS["flight_events"])
    monkeypatch.setitem(verifier.ENTERS, spec.name, verifier.ENTERS["flight_events"])
    made = Scene(kafka, tmp_path, spec, events=300, deliveries=1)
    made.deliver()
    return made


def ended_stalled(running: Running, scene: Scene) -> str:
    """Its report and its row say so, and nothing of it lives; what its threads did."""
    assert running.end() != 0
    assert running.report is not None, running.said
    threads = report_path(scene.settings.root, scene.spec.name, "stuck").with_suffix(".threads.txt")
    because(running.report.problem, RunStalled, "stood_still", threads=has(str(threads)))
    mends(scene)
    problems = {row["run_id"]: row["problem"] for row in scene.ops("runs")}
    assert problems == {"stuck": "RUN_STALLED", "next": None}
    return threads.read_text()


def test_a_jvm_that_stands_still_ends_the_drain_with_what_its_threads_did(impatient, tmp_path):
    """No thread that calls into it comes back: the watchdog's does not call."""
    running = Running(impatient, tmp_path, "stuck", "planned=wait")
    running.hold("planned")
    [frozen] = running.processes("jvm")
    frozen.suspend()
    threads = ended_stalled(running, impatient)
    assert not lives(frozen.pid), "it would write without the lease once it goes on"
    assert "The JVM did not answer" in threads
    assert "in _failure_of_query" in threads, "where the run's own thread is stuck"


@long_form
def test_so_does_a_drain_that_is_stuck_after_its_query(impatient, tmp_path):
    running = Running(impatient, tmp_path, "stuck", "checks=wait")
    threads = ended_stalled(running, impatient)
    assert "in _wait" in threads, "Python's: it stands at the failpoint"
    assert "BLOCKED" in threads or "WAITING" in threads, "the JVM's"


@long_form
def test_a_jvm_without_memory_ends_at_once_and_with_memory_the_next_goes_on(scene, tmp_path):
    scene.deliver()
    running = Running(scene, tmp_path, "small", JAVA_TOOL_OPTIONS=SMALL)
    assert running.end() != 0
    assert "Terminating due to java.lang.OutOfMemoryError" in running.said
    assert "\tat " not in running.said
    driver = json.loads(scene.paths.lease.read_text())[
        "pid"
    ]  # it lives a moment longer, to say what happened
    running.wait_until(lambda: not lives(driver), "the end of the driver")
    mends(scene)
