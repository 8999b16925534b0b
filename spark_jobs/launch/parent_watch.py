"""Orphan: a driver whose submitter has died does not live on and write.

Airflow kills a task's process group, but a supervisor that is itself killed leaves spark-submit's JVM and this driver behind:
they would go on while the task is tried again. The lease keeps the two apart; this ends the one that nobody waits for.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil

POLL_SECONDS = 1.0
REPORT_SECONDS = 20.0
"""Enough for a run whose JVM died to fail and to write its report."""


def watch() -> None:
    """From now on, ask this process to stop (SIGTERM) once its parent, spark-submit's JVM, or that one's parent has died.

    With its JVM it may end the batch at work. Without one it can only say so; if it has not ended after that, it is killed.
    """
    threading.Thread(target=_watch, args=(_ancestors(),), name="orphan", daemon=True).start()


def _watch(ancestors: tuple[int, ...]) -> None:
    while _ancestors() == ancestors:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    while os.getppid() == ancestors[0]:
        time.sleep(POLL_SECONDS)
    time.sleep(REPORT_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _ancestors() -> tuple[int, ...]:
    """The ids of the parent and its parent. An orphan is given another parent by the kernel."""
    parent = os.getppid()
    try:
        return parent, psutil.Process(parent).ppid()
    except psutil.NoSuchProcess:
        return (parent,)
