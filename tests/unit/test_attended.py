"""A drain in the foreground and Ctrl-C, with real processes: a driver that stops when it is asked to, and one that does not."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

DRIVER = """
import signal, sys, time
from pathlib import Path
def asked(*_):
    Path(sys.argv[1]).write_text("asked")
    {then}
signal.signal(signal.SIGTERM, asked)
signal.signal(signal.SIGINT, lambda *_: Path(sys.argv[1]).write_text("interrupted"))
Path(sys.argv[2]).touch()
time.sleep(60)
"""
ATTENDING = """
import os, sys
from spark_jobs.attended import attend
attend([sys.executable, *sys.argv[1:]], os.environ, sys.argv[1], lambda line: print(line, flush=True))
print("over", flush=True)
"""


def attending(folder: Path, then: str) -> "subprocess.Popen[str]":
    """Started, and its driver is at work."""
    driver, ready = folder / "main.py", folder / "ready"
    driver.write_text(DRIVER.format(then=then))
    made = subprocess.Popen([sys.executable, "-c", ATTENDING, str(driver), str(folder / "said"), str(ready)],
                            stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    until = time.monotonic() + 30
    while not ready.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    return made


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_ctrl_c_asks_the_driver_alone_and_waits_until_it_has_ended(tmp_path: Path) -> None:
    with attending(tmp_path, "sys.exit(0)") as process:
        process.send_signal(signal.SIGINT)
        assert line(process) == "stopping when the batch at work has ended; Ctrl-C again ends it at once"
        assert line(process) == "over"
    assert (tmp_path / "said").read_text() == "asked"


def test_a_second_ctrl_c_ends_a_driver_that_does_not_stop(tmp_path: Path) -> None:
    with attending(tmp_path, "pass") as process:
        driver = psutil.Process(process.pid).children()[0]
        process.send_signal(signal.SIGINT)
        assert line(process).startswith("stopping")
        process.send_signal(signal.SIGINT)
        assert line(process) == "ending at once; the next run resumes, as after a kill"
        assert line(process) == "over"
    assert not driver.is_running()
