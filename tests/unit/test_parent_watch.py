"""A driver whose submitter has died: three real processes, a parent, a child and a grandchild."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

DRIVER = """
import os, signal, sys, time
from pathlib import Path
from spark_jobs.launch import processes
processes.LOOK_SECONDS, processes.REPORT_SECONDS = 0.05, 0.5
out = Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: out.write_text("asked"))  # a wish that it is in no hurry to grant
processes.watch()
out.write_text("up")
time.sleep(60)
"""
SUBMITTER = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2]])"
)
TASK = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2], "
    "sys.argv[3]])"
)


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 30
    while not (path.exists() and path.read_text() == text):
        assert time.monotonic() < deadline, f"it never said {text}"
        time.sleep(0.02)


def gone(process: psutil.Process) -> bool:
    """Whether it ends; where nobody waits for orphans, it stays as a zombie."""
    deadline = time.monotonic() + 30
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("generation", [0, 1], ids=["the task", "the submitter"])
def test_when_its_parent_dies_it_is_asked_to_stop_and_without_its_jvm_it_ends(tmp_path, generation):
    out = tmp_path / "out"
    task = subprocess.Popen([sys.executable, "-c", TASK, SUBMITTER, DRIVER, str(out)])
    tree = [task.pid]
    try:
        wait_for(out, "up")
        tree += [child.pid for child in psutil.Process(task.pid).children(recursive=True)]
        assert len(tree) == 3
        os.kill(tree[generation], signal.SIGKILL)
        wait_for(out, "asked")
        driver = psutil.Process(tree[2])
        if generation == 0:
            time.sleep(1.5)  # longer than it is given without a JVM
            assert driver.status() != psutil.STATUS_ZOMBIE, (
                "the JVM lives: the batch at work may end"
            )
            os.kill(tree[1], signal.SIGKILL)
        assert gone(driver)
    finally:
        for pid in tree:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGKILL)
        task.wait()
