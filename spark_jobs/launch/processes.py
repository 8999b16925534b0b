"""Processes: a process and all its descendants, with the processor seconds that they took; and a
driver whose submitter has died.

A process group is not enough: PySpark's worker daemon has its own.

Airflow kills a task's group. But a supervisor that is itself killed leaves spark-submit's JVM and
the driver running, while Airflow tries the task again. The lease keeps the two runs apart; the
watch ends the one for which nobody waits.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress

import psutil

POLL_SECONDS = 0.01


def tree(pid: int) -> list[psutil.Process]:
    """The process and all its descendants, itself first; empty if it is gone."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill_tree(pid: int, seconds: float = 0.0) -> None:
    """Send SIGKILL to the process and all its descendants. Returns when they are gone, at the
    latest after `seconds`.
    """
    _kill(found := tree(pid))
    _until_gone(found, seconds)


def kill_others(pid: int, seconds: float) -> None:
    """Send SIGKILL to the process and all its descendants but this one. Returns when they are
    gone, at the latest after `seconds`.
    """
    others = [process for process in tree(pid) if process.pid != os.getpid()]
    _kill(others)
    _until_gone(others, seconds)


def kill_jvm() -> None:
    """Send SIGKILL to spark-submit's JVM, which is this driver's parent."""
    with suppress(psutil.Error, OSError):
        if parent := _jvm():
            parent.kill()


def processor_seconds() -> float:
    """What this driver, spark-submit's JVM and all their processes have taken of processors so far,
    those that have ended too. Executors of a cluster are not among them.
    """
    with suppress(psutil.Error, OSError):
        parent = _jvm()
        return sum(map(_taken, tree(parent.pid if parent else os.getpid())))
    return 0.0


def taken_before() -> float:
    """What had been taken when a run begins: nothing where the process is there for the run alone,
    which then pays for Spark's start.
    """
    return 0.0 if _is_run else processor_seconds()


_is_run = False


def _jvm() -> psutil.Process | None:
    parent = psutil.Process(os.getppid())
    return parent if parent.name() == "java" else None


def _taken(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


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


def _until_gone(processes: list[psutil.Process], seconds: float) -> None:
    until = time.monotonic() + seconds
    while any(lives(process) for process in processes) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)


def lives(process: psutil.Process) -> bool:
    """Whether it is neither gone nor, for want of somebody who waits for it, only listed."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


LOOK_SECONDS = 1.0
REPORT_SECONDS = 20.0
"""How long a run whose JVM died has to fail and write its report."""


def watch(generations: int = 2) -> None:
    """Start to watch: send this process SIGTERM once its parent, spark-submit's JVM, or the JVM's
    parent has died. With one generation the JVM's parent may die.

    While the JVM lives, the run may finish its current batch. Once it is dead, the run can only
    report that, and the watch kills the process REPORT_SECONDS later.
    """
    global _is_run  # noqa: PLW0603 - of the process, as what it has taken is
    _is_run = generations > 1
    ancestors = _ancestors(generations)
    threading.Thread(target=_watch, args=(ancestors,), name="parent-watch", daemon=True).start()


def _watch(ancestors: tuple[int, ...]) -> None:
    while _ancestors(len(ancestors)) == ancestors:
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    while os.getppid() == ancestors[0]:
        time.sleep(LOOK_SECONDS)
    time.sleep(REPORT_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _ancestors(generations: int) -> tuple[int, ...]:
    """Of two generations, the parent's parent too. The kernel gives another parent to a process
    whose parent died.
    """
    parent = os.getppid()
    if generations == 1:
        return (parent,)
    try:
        return parent, psutil.Process(parent).ppid()
    except psutil.NoSuchProcess:
        return (parent,)
