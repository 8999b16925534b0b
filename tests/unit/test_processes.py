"""Ending a process and all that it started, with real processes."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from spark_jobs.launch.processes import end_tree, is_driver, kill_tree, processor_seconds, tree
from tests.harness.patience import patient

PARENT = """
import signal, subprocess, sys, time
from pathlib import Path
if {deaf}:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(60)
"""
PATIENCE_SECONDS = patient(30)


@contextmanager
def started(
    folder: Path, *, deaf: bool = False
) -> Iterator[tuple["subprocess.Popen[bytes]", psutil.Process]]:
    """A process, and its child that leads a session of its own."""
    script = folder / "parent.py"
    told = folder / "child"
    script.write_text(PARENT.format(deaf=deaf))
    parent = subprocess.Popen([sys.executable, str(script), str(told)])
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (told.exists() and told.read_text()):
            assert parent.poll() is None
            assert time.monotonic() < deadline, "it has not started its child"
            time.sleep(0.02)
        yield parent, psutil.Process(int(told.read_text()))
    finally:
        kill_tree(parent.pid)
        parent.wait()


def ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_the_tree_is_the_process_first_and_what_it_started_in_sessions_of_their_own_too(tmp_path):
    with started(tmp_path) as (parent, child):
        assert [process.pid for process in tree(parent.pid)] == [parent.pid, child.pid]


@pytest.mark.parametrize(
    "deaf", [False, True], ids=["that takes SIGTERM", "that takes no notice of SIGTERM"]
)
def test_a_tree_is_ended(tmp_path, deaf):
    with started(tmp_path, deaf=deaf) as (parent, child):
        top = psutil.Process(parent.pid)
        end_tree(parent.pid, 0.5)
        deadline = time.monotonic() + PATIENCE_SECONDS  # a SIGKILL is not waited for
        while not (ended(top) and ended(child)):
            assert time.monotonic() < deadline, "they live"
            time.sleep(0.02)


def test_one_that_is_gone_has_no_tree_and_is_ended_in_silence():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert tree(gone.pid) == []
    end_tree(gone.pid, 0.1)
    kill_tree(gone.pid)


def test_a_driver_is_the_python_of_its_script(tmp_path):
    with started(tmp_path) as (parent, child):
        script = str(tmp_path / "parent.py")
        assert is_driver(psutil.Process(parent.pid), script)
        assert not is_driver(child, script)


def test_the_processor_seconds_of_a_process_that_has_ended_are_counted():
    before = processor_seconds()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert processor_seconds() - before > 0.2  # the kernel counts in hundredths
