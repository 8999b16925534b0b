"""Python workers: the processes in which a JVM runs Python, and the daemons that fork them."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import psutil

from spark_jobs.launch.submit import DAEMON

GONE_SECONDS: Final = 5.0
"""How long killed processes may take to be gone."""


class DaemonGone(RuntimeError):
    """A Python daemon has ended, and Spark does not know."""


class PythonWorkers:
    """Workers of one JVM, by its process id."""

    def __init__(self, jvm: int) -> None:
        self._jvm = jvm
        self._daemons = set[psutil.Process]()

    def end(self) -> None:
        """Kill the workers, which have loaded the pipeline's code; the daemons fork others."""
        killed = []
        for daemon in psutil.Process(self._jvm).children():
            with suppress(psutil.Error):
                if DAEMON in daemon.cmdline():
                    self._daemons.add(daemon)
                    killed += daemon.children()
        for worker in killed:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        psutil.wait_procs(killed, GONE_SECONDS)

    def hold_daemons(self) -> None:
        """Raises DaemonGone if one that was there has ended, for want of memory perhaps.

        Spark would still ask it for an end of its idle workers, before it starts another daemon,
        and the drain would fail with "Stream closed" (stopWorker of its PythonWorkerFactory).
        """
        if gone := [each.pid for each in self._daemons if not _lives(each)]:
            raise DaemonGone(f"its Python daemon is gone (process {gone[0]})")


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
