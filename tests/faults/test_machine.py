"""Faults of the machine under real drains: it ends with one line that says why, and the next drain makes everything right."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time

import deltalake
import psutil
import pytest

from local import broker, jvm
from spark_jobs.contract.settings import REPO
from tests.harness.process import Running
from tests.harness.scene import Scene

SMALL = "-XX:MaxMetaspaceSize=26m"
"""Spark starts with so much, and its first query needs more."""


@pytest.fixture
def scene(own_kafka, tmp_path):
    """A pipeline with state in the JVM and in Python, on a broker of its own: the shipped spec's topic is `flights`."""
    return Scene(own_kafka[0], tmp_path, "aircraft_rotations", events=3000, deliveries=6, topic="flights")


def mends(scene: Scene, folder, run_id: str) -> None:
    """The next drain ends well, and everything is exact."""
    running = Running(scene, folder, run_id)
    assert running.end() == 0, running.said
    scene.assert_exact()


def ended_loud(running: Running, said: str, *codes: str) -> None:
    """It failed with one of these codes, and says that, without a stack trace."""
    assert running.end() != 0
    assert running.report is not None, running.said
    assert running.report.problem is not None
    assert running.report.problem.code in codes, running.report.problem
    assert "\tat " not in running.said
    assert "Traceback" not in running.said
    assert said in running.said


def test_a_python_worker_that_is_killed_fails_the_batch_and_the_next_drain_repeats_it(scene, tmp_path):
    scene.deliver()
    running = Running(scene, tmp_path, "killed")
    running.wait_for(lambda: any(running.processes("workers")) and running.has_planned(), "a worker")
    while running.process.poll() is None and not running.checkpoint.committed():
        for worker in running.processes("workers"):
            with contextlib.suppress(Exception):
                worker.kill()
        time.sleep(0.05)
    ended_loud(running, "one of Spark's Python workers died", "SPARK_FAILED")
    mends(scene, tmp_path, "next")


def test_a_broker_that_is_killed_in_a_drain_and_started_again(scene, own_kafka, tmp_path):
    scene.deliver()
    mends(scene, tmp_path, "first")
    scene.deliver()
    running = Running(scene, tmp_path, "without")
    running.wait_for(running.has_planned, "a batch")
    jvm.process(own_kafka[1]).kill()
    assert jvm.gone(own_kafka[1], 30)
    time.sleep(1)
    assert broker.start(own_kafka[1], REPO / "jars" / "kafka") == own_kafka[0], "on its old port"
    if running.end():
        assert running.report.problem.code in {"SPARK_FAILED", "KAFKA_UNREACHABLE"}
    scene.deliver()
    mends(scene, tmp_path, "next")


def test_a_broker_that_stands_still_for_a_while_is_waited_for(scene, own_kafka, tmp_path):
    scene.deliver()
    running = Running(scene, tmp_path, "paused")
    running.wait_for(running.has_planned, "a batch")
    process = jvm.process(own_kafka[1])
    process.suspend()
    try:
        time.sleep(float(os.environ.get("SLUICE_PAUSE_SECONDS", "10")))
    finally:
        process.resume()
    if running.end():
        assert running.report.problem.code in {"SPARK_FAILED", "KAFKA_UNREACHABLE"}
    scene.deliver()
    mends(scene, tmp_path, "next")


def test_a_full_disk_ends_the_drain_and_space_lets_the_next_go_on(scene, tmp_path):
    disk = tmp_path / "root"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "sluice-test", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        scene.deliver()
        mends(scene, tmp_path, "first")
        full = 0
        for spare in (0, 60, 300):  # KiB: it ends at one place or another
            _fill(disk / "ballast", spare)
            scene.deliver()
            running = Running(scene, tmp_path, f"full-{spare}")
            if running.end():
                full += 1
                ended_loud(running, "pace", "ROOT_NOT_WRITABLE", "DISK_FULL")
            (disk / "ballast").unlink()
        assert full >= 2, "the disk was never full"
        mends(scene, tmp_path, "next")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(path, spare_kib: int) -> None:
    """Write until nothing is left, and give that much back."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 1024):
            pass
    os.truncate(path, max(0, path.stat().st_size - spare_kib * 1024))


def test_a_finished_task_that_is_cleared_and_run_again_changes_nothing(scene, tmp_path):
    scene.deliver()
    mends(scene, tmp_path, "task")
    version = deltalake.DeltaTable(str(scene.paths.table)).version()
    mends(scene, tmp_path, "task")
    assert deltalake.DeltaTable(str(scene.paths.table)).version() == version


def test_of_several_triggers_at_once_one_drains_and_the_others_say_who_does(scene, tmp_path):
    scene.deliver()
    triggers = int(os.environ.get("SLUICE_TRIGGERS", "3"))
    all_of_them = [Running(scene, tmp_path, f"trigger-{number}") for number in range(triggers)]
    statuses = [running.end() for running in all_of_them]
    reports = [running.report for running in all_of_them]
    refused = [report for report in reports if report.problem and report.problem.code == "LEASE_HELD"]
    assert statuses.count(0) + len(refused) == triggers
    assert statuses.count(0) >= 1
    assert all("trigger-" in report.problem.what for report in refused), "the holder's run"
    assert sum(report.account.read for report in reports) == scene.ledger.num_rows, "read once, whoever did"
    scene.assert_exact()


def test_a_drain_whose_task_was_killed_makes_way_for_the_next_try(scene, tmp_path):
    scene.deliver()
    running = Running(scene, tmp_path, "orphan")
    running.wait_for(running.has_planned, "a batch")
    orphans = [*running.processes("driver")]
    assert orphans
    os.kill(running.process.pid, signal.SIGKILL)  # the submitter alone: its driver and workers live on
    running.end()
    running.wait_until(lambda: not any(orphan.is_running() for orphan in orphans), "the end of the driver")
    mends(scene, tmp_path, "next")


def test_a_jvm_without_memory_ends_at_once_and_with_memory_the_next_goes_on(scene, tmp_path):
    scene.deliver()
    running = Running(scene, tmp_path, "small", JAVA_TOOL_OPTIONS=SMALL)
    assert running.end() != 0
    assert "Terminating due to java.lang.OutOfMemoryError" in running.said
    assert "\tat " not in running.said
    driver = json.loads(scene.paths.lease.read_text())["pid"]  # it lives a moment longer, to say what happened
    running.wait_until(lambda: not psutil.pid_exists(driver), "the end of the driver")
    mends(scene, tmp_path, "next")
