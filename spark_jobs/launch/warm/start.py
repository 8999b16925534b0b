"""Start: a worker as a process of its own, which outlives its starter."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.scratch import Scratch
from spark_jobs.launch.warm.link import Link, connected
from spark_jobs.launch.warm.place import log_path, sweep
from spark_jobs.launch.warm.variables import of_the_worker

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
