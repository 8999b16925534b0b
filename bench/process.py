"""One process, from its start to its end: seconds, processor seconds, and the memory of it and of
all that it starts.

Processor seconds are the kernel's, exact, for every process for which somebody has waited: also for
orphans, which this process adopts. For those that the kernel removes unasked, which are Spark's
Python workers for the most part, they are what process_tree.py saw last.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.process_tree import ProcessTree

PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): a process whose parent has died becomes this one's child, and not init's."""
PATIENCE_SECONDS = 30


class ProcessFailed(Exception):
    """A measured process ended with an unexpected status; the message has the end of its log."""


class Cost(NamedTuple):
    """What one process took."""

    seconds: float
    cpu_seconds: float
    """User and system, of all its processes, also of those that outlive their parent."""
    peak_bytes: int
    """The largest sum of resident memory over all its processes.

    Pages that they share count more than once.
    """
    unwaited_seconds: float = 0.0
    """The part of `cpu_seconds` that is known from looking alone."""


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    cwd: Path,
    *,
    expected: int = 0,
) -> Cost:
    """Run it to its end, its output into `log`. Raises ProcessFailed unless that is with the
    `expected` status.
    """
    adopt_orphans()
    with log.open("w") as output:
        others = {child.pid for child in psutil.Process().children()}
        before = _waited_seconds()
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
        )
        with ProcessTree(others) as tree:
            try:
                status = process.wait()
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
                seconds = time.monotonic() - began
                orphans = _wait_for_orphans(others)
    if status != expected:
        lines = log.read_text(errors="replace").splitlines()
        message = f"{command[0]} ended with status {status}; the end of {log}:\n" + "\n".join(
            lines[-15:]
        )
        raise ProcessFailed(message)
    unwaited = tree.unwaited_seconds({process.pid, *orphans})
    # Where orphans cannot be adopted, nobody waits for them, and looking finds more.
    used = max(_waited_seconds() - before + unwaited, tree.sampled_seconds())
    return Cost(seconds, used, tree.peak_bytes, unwaited)


def adopt_orphans() -> None:
    """From now on this process is the parent of what its children leave behind."""
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _wait_for_orphans(others: set[int]) -> set[int]:
    """Wait for what the process left behind, since a child's processor time is known once it has
    been waited for; the ids of these.
    """
    orphans: set[int] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := [child.pid for child in psutil.Process().children() if child.pid not in others]:
        for pid in left:
            orphans.add(pid)
            os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            message = f"processes outlived the measured one by {PATIENCE_SECONDS} s: {left}"
            raise ProcessFailed(message)
        time.sleep(0.01)
    return orphans


def _waited_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
