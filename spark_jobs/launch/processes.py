"""Processes: a process and all its descendants.

Its process group is not enough: PySpark's worker daemon has its own.
"""

from __future__ import annotations

from contextlib import suppress

import psutil


def tree(pid: int) -> list[psutil.Process]:
    """The process and all its descendants, itself first; empty if it is gone."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill_tree(pid: int) -> None:
    """Send SIGKILL to the process and all its descendants."""
    _kill(tree(pid))


def end_tree(pid: int, grace_seconds: float) -> None:
    """Send SIGTERM to the process and its descendants, descendants first; SIGKILL to those left
    after `grace_seconds`.
    """
    processes = tree(pid)
    for process in reversed(processes):
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _kill(psutil.wait_procs(processes, timeout=grace_seconds)[1])


def is_driver(process: psutil.Process, application: str) -> bool:
    """Whether it is the Python process of this script, which takes SIGTERM as a request to stop,
    and not the JVM above it.

    Raises psutil.Error if the process is gone or may not be read.
    """
    command = process.cmdline()
    return bool(command) and "python" in command[0] and application in command[1:3]


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
