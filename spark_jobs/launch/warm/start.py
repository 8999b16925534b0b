"""Start: a worker as a process of its own, which outlives its starter; and the end of one that does
nothing any more.

It takes the variables that do not belong to one run. Another value of one of these is another
environment: the JVM, a Python worker or a pipeline's code may have read it. So the worker ends
then.

Somebody may have stopped it (SIGSTOP), or its threads may wait for one another. Each client would
wait for it, and then start cold.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.scratch import Scratch
from spark_jobs.launch.warm.link import Link, connected
from spark_jobs.launch.warm.place import log_path, sweep

OF_A_RUN: Final = {
    "SLUICE_KAFKA_CONFIG",  # only the driver reads the file, at the start of each drain
    "SLUICE_NEXT",  # of a rebuild: only the driver reads it, in each run
    "SLUICE_FAILPOINTS",
    "SLUICE_FAILPOINTS_WAITING",
    # of the shell or the terminal
    "_",
    "SHLVL",
    "OLDPWD",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "TERM_SESSION_ID",
    "TMUX_PANE",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "XDG_SESSION_ID",
    # of one start of a service, by systemd
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    # of the test that starts the run
    "PYTEST_CURRENT_TEST",
}
KAFKA: Final = "SLUICE_KAFKA"
"""Begins the names of what a drain's settings have of its cluster. A worker needs one to start, and
serves pipelines of several clusters.
"""
PREFIXES: Final = ("AIRFLOW_CTX_", "_AIRFLOW_", "__AIRFLOW_")
"""Of an Airflow task: its ids, and what its supervisor hands it, a token among that."""


def of_a_run(name: str) -> bool:
    """Whether this variable may differ from one run to the next."""
    return name in OF_A_RUN or name.startswith(PREFIXES)


def compared(variables: Mapping[str, str]) -> dict[str, str]:
    """The worker's variables that another drain must have alike."""
    return {n: v for n, v in of_the_worker(variables).items() if not n.startswith(KAFKA)}


def of_the_worker(variables: Mapping[str, str]) -> dict[str, str]:
    """Those that do not belong to one run."""
    return {name: value for name, value in variables.items() if not of_a_run(name)}


BORN = "SLUICE_WORKER_BORN"
"""The variable with the fingerprint that the worker is started with."""
START_SECONDS = 120.0
POLL_SECONDS = 0.02
_STARTED: list[subprocess.Popen[bytes]] = []
"""The workers that this process started and does not wait for."""


def start(
    socket: Path, command: list[str], variables: Mapping[str, str], fingerprint: dict[str, str]
) -> Link | None:
    """A link to a new worker, which `command` starts; None if it did not come up: its log says why.

    Only for a process that may start it (place.starting).
    """
    socket.unlink(missing_ok=True)  # of a worker that was killed
    log = log_path(socket)
    with suppress(FileNotFoundError):
        log.replace(log.with_suffix(".log.before"))
    sweep(socket, time.time())
    kept = of_the_worker(variables)
    made = Scratch(kept)
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command,
            env={**kept, **made.variables, BORN: json.dumps(fingerprint)},
            pass_fds=made.locks,
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=opened,
            start_new_session=True,
        )
    finally:
        os.close(opened)
        made.let_go()
    _STARTED[:] = [process, *(each for each in _STARTED if each.poll() is None)]
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        if socket.exists() and (link := connected(socket)) is not None:
            return link
        time.sleep(POLL_SECONDS)
    if process.poll() is None:  # else its id may be another's
        kill_tree(process.pid)
        process.wait()
    return None


BUSY_SECONDS = 0.05
"""Of the processor. A worker that has used more while its client waited is at work, and may only be
slow: its drain is not ended.
"""

_Used = dict[tuple[int, float], float]
"""Process and when it was made -> seconds."""
GONE_SECONDS = 10.0
"""How long a killed worker may take to be gone: until then it has its socket."""


class Watched:
    """The process at the other end of a link, watched from now on. `pid` is the kernel's word; None
    where it gives none.
    """

    def __init__(self, pid: int | None) -> None:
        self._process: psutil.Process | None = None
        self._used = _Used()
        with suppress(psutil.Error):
            if pid is not None and BORN in psutil.Process(pid).environ():
                # Its JVM, which computes, is above the driver's Python, which has the socket.
                self._process = _topmost(psutil.Process(pid))
                self._used = _used(self._process)

    def ended(self) -> bool:
        """Whether it is a worker that has done nothing since: it is ended then, with its JVM."""
        with suppress(psutil.Error):
            process = self._process
            if process is None or not process.is_running():
                return False
            if not _at_work(self._used, _used(process)):
                kill_tree(process.pid, GONE_SECONDS)
                return True
        return False


def _used(process: psutil.Process) -> _Used:
    """By the process and by each below it, in seconds of the processor."""
    found = _Used()
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.Error):
            times = each.cpu_times()
            found[each.pid, each.create_time()] = float(times.user + times.system)
    return found


def _at_work(before: _Used, now: _Used) -> bool:
    used = sum(seconds - before.get(process, 0.0) for process, seconds in now.items())
    return bool(before.keys() - now.keys()) or used >= BUSY_SECONDS


def _topmost(process: psutil.Process) -> psutil.Process:
    above = process.parent()
    with suppress(psutil.Error):
        if above is not None and BORN in above.environ():
            return _topmost(above)
    return process
