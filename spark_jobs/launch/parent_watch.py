"""Parent watch: ends a driver whose submitter has died, so that it does not continue to write.

Airflow kills a task's process group. But a supervisor that is itself killed leaves spark-submit's
JVM and this driver running, while Airflow tries the task again. The lease keeps the two runs apart;
this ends the one for which nobody waits.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil

POLL_SECONDS = 1.0
REPORT_SECONDS = 20.0
"""How long a run whose JVM died has to fail and write its report."""


def watch(generations: int = 2) -> None:
    """Start to watch: send this process SIGTERM once its parent, spark-submit's JVM, or the JVM's
    parent has died. With one generation the JVM's parent may die.

    While the JVM lives, the run may finish its current batch. Once it is dead, the run can only
    report that, and the watch kills the process REPORT_SECONDS later.
    """
    ancestors = _ancestors(generations)
    threading.Thread(target=_watch, args=(ancestors,), name="parent-watch", daemon=True).start()


def _watch(ancestors: tuple[int, ...]) -> None:
    while _ancestors(len(ancestors)) == ancestors:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    while os.getppid() == ancestors[0]:
        time.sleep(POLL_SECONDS)
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
