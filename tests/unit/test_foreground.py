"""A drain in the foreground and Ctrl-C, with drivers that stop when asked, and that do not."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from spark_jobs.launch import foreground
from tests.harness.patience import patient

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
PATIENCE_SECONDS = patient(60)
ATTENDING = """
import os, signal, sys
from spark_jobs.launch.foreground import run_in_foreground
from tests.harness.lines import heard
signal.signal(signal.SIGINT, signal.default_int_handler)
def say(line):
    {meanwhile}
    print(line, flush=True)
with heard(say):
    run_in_foreground([sys.executable, *sys.argv[1:]], os.environ, sys.argv[1])
print("over", flush=True)
"""
AGAIN = "if line.startswith('stopping'): os.kill(os.getpid(), signal.SIGINT)"
"""Ctrl-C once more, while the first is being answered."""


def attending(folder: Path, then: str, meanwhile: str = "") -> "subprocess.Popen[str]":
    """Started, and its driver is at work."""
    driver = folder / "main.py"
    ready = folder / "ready"
    driver.write_text(DRIVER.format(then=then))
    attending = ATTENDING.format(meanwhile=meanwhile)
    made = subprocess.Popen(
        [sys.executable, "-c", attending, str(driver), str(folder / "said"), str(ready)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    until = time.monotonic() + PATIENCE_SECONDS
    while not ready.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    return made


def line(process: "subprocess.Popen[str]") -> str:
    return process.stdout.readline().strip()


def test_ctrl_c_asks_the_driver_alone_and_waits_until_it_has_ended(tmp_path):
    with attending(tmp_path, "sys.exit(0)") as process:
        process.send_signal(signal.SIGINT)
        assert (
            line(process)
            == "stopping when the batch at work has ended; Ctrl-C again ends it at once"
        )
        assert line(process) == "over"
    assert (tmp_path / "said").read_text() == "asked"


def test_a_second_ctrl_c_ends_a_driver_that_does_not_stop(tmp_path):
    with attending(tmp_path, "pass") as process:
        driver = psutil.Process(process.pid).children()[0]
        process.send_signal(signal.SIGINT)
        assert line(process).startswith("stopping")
        process.send_signal(signal.SIGINT)
        assert line(process) == "ending at once; the next run resumes, as after a kill"
        assert line(process) == "over"
    assert not driver.is_running()


def test_so_does_one_that_comes_while_the_first_is_being_answered(tmp_path):
    with attending(tmp_path, "pass", AGAIN) as process:
        driver = psutil.Process(process.pid).children()[0]
        process.send_signal(signal.SIGINT)
        assert line(process).startswith("stopping")
        assert line(process).startswith("ending at once")
        assert line(process) == "over"
    assert not driver.is_running()


@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_stays_ignored_where_it_is_as_in_the_background_and_is_then_what_it_was(ignored):
    at_first = signal.getsignal(signal.SIGINT)
    before = signal.SIG_IGN if ignored else signal.default_int_handler
    signal.signal(signal.SIGINT, before)
    try:
        with foreground.interrupts() as pressed:
            signal.raise_signal(signal.SIGINT)
        assert pressed == ([] if ignored else [signal.SIGINT])
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, at_first)
