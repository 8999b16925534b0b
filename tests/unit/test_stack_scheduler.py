"""What SIGTERM does to the stack's scheduler: drains are asked first, by real processes with a
driver's command line.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from spark_jobs.launch import submit
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient

PATIENCE_SECONDS = patient(60)
# A scheduler that, told to stop, waits for its drain as LocalExecutor does.
SCHEDULER = """
import signal, subprocess, sys
drain = subprocess.Popen([sys.executable, sys.argv[2], "drain"])
signal.signal(signal.SIGTERM, lambda *_: (drain.wait(), sys.exit(0)))
while True: signal.pause()
"""
# A driver that is not ready to be asked at first: SIGTERM would just kill it then.
DRIVER = """
import pathlib, signal, sys, time
here = pathlib.Path(sys.argv[0]).parent
(here / "began").touch()
while not (here / "go on").exists(): time.sleep(0.05)
def asked(*_): (here / "asked").touch(); sys.exit(0)
signal.signal(signal.SIGTERM, asked)
(here / "ready").touch()
while True: signal.pause()
"""
WRAPPED = """
import sys
from pathlib import Path
from local.stack import scheduler
from spark_jobs.launch import submit
submit.application = lambda: sys.argv[1]
sys.exit(scheduler.run([sys.executable, "-c", sys.argv[2], "", sys.argv[1]]))
"""


def _until(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path.name}"
        time.sleep(0.05)


def test_a_drain_is_asked_once_it_can_be_and_the_scheduler_waits_for_it(tmp_path):
    driver = tmp_path / "main.py"
    driver.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    words = [
        sys.executable,
        "-c",
        WRAPPED,
        str(driver),
        SCHEDULER.replace("sys.argv[2]", "sys.argv[-1]"),
    ]
    wrapped = subprocess.Popen(words, env=environment, cwd=REPO)
    try:
        _until(tmp_path / "began")
        wrapped.send_signal(signal.SIGTERM)
        # Longer than one look at the processes: a driver that would die of it is left alone.
        time.sleep(1.5)
        assert wrapped.poll() is None
        (tmp_path / "go on").touch()
        _until(tmp_path / "ready")
        assert wrapped.wait(PATIENCE_SECONDS) == 0
        assert (tmp_path / "asked").exists()
    finally:
        wrapped.kill()
        wrapped.wait()


def test_without_a_signal_its_exit_status_is_the_commands():
    words = [
        sys.executable,
        "-m",
        "local.stack.scheduler",
        sys.executable,
        "-c",
        "import sys; sys.exit(7)",
    ]
    assert subprocess.run(words, cwd=REPO, check=False).returncode == 7


def test_the_driver_that_is_looked_for_is_the_one_that_is_submitted():
    assert Path(submit.application()).is_file()
