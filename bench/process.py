"""One process, from its start to its end: seconds, processor seconds, and the memory of it and of
all that it starts.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): a process whose parent has died becomes this one's child, and not init's."""
PATIENCE_SECONDS = 30
SAMPLE_SECONDS = 0.25
"""Memory is looked at so often: each look costs some milliseconds of the two cores that the process
has too.
"""


class ProcessFailed(Exception):
    """A measured process did not end with status 0; the message has the end of its log."""


class Cost(NamedTuple):
    """What one process took."""

    seconds: float
    cpu_seconds: float
    """User and system, of all its processes, also of those that outlive their parent: Spark's
    Python workers do, and are a tenth of a load.
    """
    peak_bytes: int
    """The largest sum of resident memory over all its processes.

    Pages that they share count more than once.
    """


def run(command: Sequence[str], environment: Mapping[str, str], log: Path, cwd: Path) -> Cost:
    """Run it to its end, its output into `log`. Raises ProcessFailed."""
    _adopt_orphans()
    with log.open("w") as output:
        others = {child.pid for child in psutil.Process().children()}
        before = _children()
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
        )
        peak = _Peak(process.pid)
        try:
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            seconds = time.monotonic() - began
            peak.stop()
            _wait_for_orphans(others)
    if status != 0:
        lines = log.read_text(errors="replace").splitlines()
        message = f"{command[0]} ended with status {status}; the end of {log}:\n" + "\n".join(
            lines[-15:]
        )
        raise ProcessFailed(message)
    return Cost(seconds, _children() - before, peak.bytes)


def _adopt_orphans() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _wait_for_orphans(others: set[int]) -> None:
    """Wait for what the process left behind: a child's processor time is known once it has been
    waited for.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := [child.pid for child in psutil.Process().children() if child.pid not in others]:
        for pid in left:
            os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            message = f"processes outlived the measured one by {PATIENCE_SECONDS} s: {left}"
            raise ProcessFailed(message)
        time.sleep(0.01)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Peak:
    """Watches a process and its descendants from a thread."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            try:
                family = [self._process, *self._process.children(recursive=True)]
            except psutil.Error:
                return
            self.bytes = max(self.bytes, sum(map(_resident, family)))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
