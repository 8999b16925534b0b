"""Ends a process and everything below it."""

from __future__ import annotations

from contextlib import suppress

import psutil  # type: ignore[import-untyped, unused-ignore]

GRACE_SECONDS = 3.0
"""Airflow gives a killed task 5 seconds in all."""


def end_tree(pid: int) -> None:
    """SIGTERM to the process and all its descendants, and SIGKILL to those that are left after GRACE_SECONDS.

    By descent, not by process group: PySpark's worker daemon leads a group of its own.
    """
    try:
        top = psutil.Process(pid)
        tree = [*top.children(recursive=True), top]
    except psutil.NoSuchProcess:
        return
    for process in tree:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(tree, timeout=GRACE_SECONDS)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
