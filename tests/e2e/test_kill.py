"""SIGKILL at the worst moments of a real spark-submit, then resume: the tables are those of an undisturbed run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import deltalake
import psutil

from spark_jobs.contract.report import Report, read_report
from spark_jobs.submit import command, environment
from tests.harness.scene import Scene

PATIENCE_SECONDS = 180


def submit(scene: Scene, report: Path) -> subprocess.Popen[bytes]:
    """A drain in a process group of its own, as Airflow's task would start it."""
    return subprocess.Popen(
        command(scene.settings, scene.spec.name, report, report.stem),
        env={**os.environ, **environment(scene.settings)}, start_new_session=True,
    )


def kill_when(scene: Scene, tmp_path: Path, name: str, moment: Callable[[], bool]) -> None:
    """Start a drain and kill it, JVM, Python and workers, as soon as `moment` has come."""
    process = submit(scene, tmp_path / f"{name}.json")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert process.poll() is None, f"the drain ended before the moment to kill it: {name}"
        assert time.monotonic() < deadline, f"the moment never came: {name}"
        time.sleep(0.02)
    tree = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    for pid in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / f"{name}.json").exists(), "a killed run must leave no report"


def finish(scene: Scene, tmp_path: Path, name: str) -> Report:
    """Drain to the end."""
    assert submit(scene, tmp_path / f"{name}.json").wait(PATIENCE_SECONDS) == 0
    return read_report(tmp_path / f"{name}.json")


def test_a_drain_killed_anywhere_and_run_again_gives_the_same_table(kafka, tmp_path):
    scene = Scene(kafka, tmp_path, "aircraft_rotations", events=4500, deliveries=3, topic="flights")
    checkpoint = scene.paths.checkpoint

    def table_version() -> int:
        path = str(scene.paths.table)
        return deltalake.DeltaTable(path).version() if deltalake.DeltaTable.is_deltatable(path) else -1

    scene.deliver()
    kill_when(scene, tmp_path, "batch 0 is planned", (checkpoint / "offsets" / "0").exists)
    kill_when(scene, tmp_path, "batch 0 is in the table", lambda: table_version() >= 1)
    kill_when(scene, tmp_path, "batch 0 is committed", (checkpoint / "commits" / "0").exists)
    assert finish(scene, tmp_path, "first delivery").account.unaccounted == 0
    scene.assert_exact()

    scene.deliver()
    version = table_version()
    kill_when(scene, tmp_path, "batch 2 is in the table", lambda: table_version() > version)
    assert finish(scene, tmp_path, "second delivery").account.unaccounted == 0
    scene.assert_exact()

    # A batch that follows a crash is judged by the watermark before it; only now can records be late.
    scene.deliver()
    assert finish(scene, tmp_path, "third delivery").account.late > 0
    scene.assert_exact()
