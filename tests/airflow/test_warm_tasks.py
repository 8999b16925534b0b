"""Tasks with SLUICE_WARM=on: a real worker that needs no Spark does their runs."""

import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from sluice_airflow.dags.backfill_dag import build_backfill
from spark_jobs.errors import ReportMissing
from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.warm import client, start
from spark_jobs.launch.warm.fits import shown
from spark_jobs.launch.warm.link import Shown
from spark_jobs.launch.warm.place import socket_path
from spark_jobs.registry import find as registry
from tests.airflow.installed import executed
from tests.airflow.test_repair_tasks import PLANNED
from tests.airflow.test_tasks import NAME, Installation, report
from tests.harness.patience import patient
from tests.harness.process import lives

PATIENCE_SECONDS = patient(60)
PYTHON = sys.executable
WORKER = """
import json, os, shutil, subprocess, sys, time
from pathlib import Path
from spark_jobs.launch.warm.inside.idle import Idle
from spark_jobs.launch.warm.inside.life import Limits
from spark_jobs.launch.warm.start import BORN
from spark_jobs.launch.warm.inside.worker import Worker

class NoSpark:
    def new_session(self): pass
    def clean(self): pass
    def stop(self): pass
    def kill(self): pass
    def collect(self): pass
    def memory_mb(self): return 10

def run(words):
    print("warm", json.loads(words[0])["do"], os.environ.get("AIRFLOW_CTX_TRY_NUMBER"), flush=True)
    held = Path(sys.argv[1]).parent / "held"
    while held.exists():
        time.sleep(0.01)
    if (Path(sys.argv[1]).parent / "leaks").exists():
        # As a library of a pipeline's may: all pipes, the client's too, go to a process that stays.
        pipes = [fd for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}")
                 and os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")]
        left = subprocess.Popen(["sleep", "60"], pass_fds=pipes)
        (Path(sys.argv[1]).parent / "left").write_text(str(left.pid))
    path = Path(json.loads(words[0])["report"])
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(sys.argv[1], path)
    return 0

born = json.loads(os.environ.pop(BORN))
path, busy = Path(json.loads(sys.argv[2])["socket"]), Idle(None, lambda: 0.0)
sys.exit(Worker(path, born, Limits(9, 600, 100), run, busy, NoSpark).work())
"""


@pytest.fixture
def installation(tmp_path, monkeypatch) -> Iterator[Installation]:
    made = Installation(tmp_path, monkeypatch, "root")  # a cluster refuses an odd one
    monkeypatch.setenv("SLUICE_WARM", "on")
    report().write(made.bin / "report.json")
    (made.bin / "worker.py").write_text(WORKER)
    # As spark-submit it stays the parent: its process is the topmost one, as the JVM is.
    made.spark_does(
        'for last in "$@"; do :; done',
        f'{PYTHON} {made.bin / "worker.py"} {made.bin / "report.json"} "$last" &',
        "wait",
    )
    socket = socket_path(str(made.root))
    try:
        yield made
    finally:
        for process in psutil.process_iter():
            try:
                if str(socket) in " ".join(process.cmdline()):
                    kill_tree(process.pid)
            except psutil.Error:
                continue
        for started in start._STARTED:  # noqa: SLF001 - a task's process ends, and init waits for them
            started.wait()


def worker(installation: Installation) -> Shown:
    found = shown(socket_path(str(installation.root)))
    assert found is not None
    return found


def test_the_first_drain_starts_a_worker_and_the_next_none(installation, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("AIRFLOW_CTX_TRY_NUMBER", "1")
    assert installation.run("drain")["status"] == "succeeded"
    monkeypatch.setenv("AIRFLOW_CTX_TRY_NUMBER", "2")
    assert installation.run("drain")["status"] == "succeeded"
    (submitted,) = installation.jobs
    assert '"do":"serve"' in submitted
    assert worker(installation).drains == 2
    assert {"warm drain 1", "warm drain 2"} <= {*caplog.messages}


def test_a_repair_finds_the_worker_of_the_drains(installation, caplog):
    caplog.set_level(logging.INFO)
    assert installation.run("drain")["status"] == "succeeded"
    stage = build_backfill(registry.load(NAME)).get_task("stage")
    planned = {"plan": PLANNED | {"offsets": 5}}
    done = executed(stage, lambda *, task_ids: planned.get(task_ids))
    assert done["status"] == "succeeded"
    (submitted,) = installation.jobs
    assert '"do":"serve"' in submitted
    assert worker(installation).drains == 2
    assert any(line.startswith("warm stage") for line in caplog.messages)


def test_a_setting_that_is_off_and_a_clusters_master_submit_each_drain(installation, monkeypatch):
    installation.spark_reports(report(), 0)
    for name, value in (
        ("SLUICE_WARM", "off"),
        ("AIRFLOW_CONN_SLUICE_SPARK", '{"conn_type": "spark", "host": "spark://m", "port": 7077}'),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert installation.run("drain")["status"] == "succeeded"
    for submitted in installation.jobs:
        assert '"do":"drain"' in submitted


def test_a_killed_task_kills_the_worker_and_the_next_one_starts_another(installation):
    held = installation.bin / "held"
    held.touch()
    with ThreadPoolExecutor(1) as beside:
        task = beside.submit(installation.run, "drain")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := shown(socket_path(str(installation.root)))) or not found.run:
            assert time.monotonic() < deadline, "no worker has begun the drain"
            time.sleep(0.02)
        installation.dag.get_task("drain").on_kill()
        assert type(task.exception(PATIENCE_SECONDS)) is ReportMissing
    assert not lives(found.process)
    held.unlink()
    assert installation.run("drain")["status"] == "succeeded"
    assert worker(installation).process != found.process


def test_a_task_killed_while_a_worker_begins_its_run_ends_the_worker(installation, monkeypatch):
    begins = client.begun

    def begun_and_killed(*given: Any) -> Any:
        run = begins(*given)
        installation.dag.get_task("drain").on_kill()
        return run

    monkeypatch.setattr(client, "begun", begun_and_killed)
    (held := installation.bin / "held").touch()
    ends_anyway = threading.Timer(PATIENCE_SECONDS, held.unlink)
    ends_anyway.start()
    try:
        with pytest.raises(ReportMissing):
            installation.run("drain")
    finally:
        ends_anyway.cancel()
    assert shown(socket_path(str(installation.root))) is None


def test_a_task_killed_while_no_worker_takes_its_run_starts_none_cold(installation, monkeypatch):
    def killed(*_: Any) -> None:
        installation.dag.get_task("drain").on_kill()

    monkeypatch.setattr(client, "begun", killed)
    with pytest.raises(ReportMissing):
        installation.run("drain")
    assert not installation.called.exists()


def test_a_process_that_a_run_has_left_behind_does_not_hold_the_task(installation, caplog):
    caplog.set_level(logging.INFO)
    (installation.bin / "leaks").touch()
    assert installation.run("drain")["status"] == "succeeded"
    left = int((installation.bin / "left").read_text())
    assert lives(left), "else this is no proof"
    found = worker(installation)
    installation.dag.get_task("drain").on_kill()
    assert lives(found.process), "the run is over, and the worker may be at another one's"
    psutil.Process(left).kill()
    assert any(line.startswith("warm drain") for line in caplog.messages)


def test_where_no_worker_comes_up_the_drain_is_cold_and_says_why(installation, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    installation.spark_reports(report(), 1)
    assert installation.run("drain")["status"] == "succeeded"
    first, second = installation.jobs
    assert '"do":"serve"' in first
    assert '"do":"drain"' in second
    assert any("starts cold: no worker came up" in line for line in caplog.messages)
    others = installation.bin / "temporary"
    (others / f"sluice-warm-{os.getuid()}").mkdir(parents=True, mode=0o777)
    (others / f"sluice-warm-{os.getuid()}").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(others))
    assert installation.run("drain")["status"] == "succeeded"
    assert "this user's alone" in caplog.text
    assert '"do":"drain"' in installation.jobs[2]
