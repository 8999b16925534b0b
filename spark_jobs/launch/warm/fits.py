"""Fits: which runs may go through a worker, which workers a root has, and whether one may be
started. The other runs start cold, and say why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from spark_jobs.errors import SluiceError
from spark_jobs.launch.java_options import C2_MIN_RECORDS
from spark_jobs.launch.warm.control_group import GROUPS, PROC, folders
from spark_jobs.launch.warm.link import (
    PATIENCE_SECONDS,
    BadMessage,
    End,
    Gone,
    Look,
    Shown,
    connected,
)
from spark_jobs.launch.warm.place import MOST_PATH_BYTES, socket_path, socket_paths
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.store import is_remote

BESIDE_HEAP_MB = 1024
"""Of a run, beside the JVM's heap: what the JVM has outside it, the driver's Python and workers."""
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_KILOBYTES = {"k": 1, "": 1024, "m": 1024, "g": 1024**2, "t": 1024**3}
"""Of Spark's units of memory; a number without one is in MiB."""


class _Form(NamedTuple):
    """The files in which a version of control groups says what."""

    most: str
    used: str
    cached: str
    """The line of memory.stat with what is given back to processes that need it."""


_FIRST = _Form("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = _Form("memory.max", "memory.current", "inactive_file")


def needed_mb(settings: Settings) -> int:
    """Megabytes that a run may come to need. Raises ValueError for a size that is none."""
    found = _SIZE.fullmatch(settings.driver_memory)
    if found is None:
        raise ValueError(f"SLUICE_DRIVER_MEMORY={settings.driver_memory} is no size as 2g is")
    return int(found[1]) * _KILOBYTES[found[2].lower()] // 1024 + BESIDE_HEAP_MB


def free_mb(proc: Path = PROC, groups: Path = GROUPS) -> int:
    """Megabytes that a new process can have without taking them from another."""
    machine = psutil.virtual_memory().available
    return int(min([machine, *_left_in_groups(proc, groups)]) // 2**20)


def _left_in_groups(proc: Path, groups: Path) -> Iterator[int]:
    """Bytes left in each group that has a limit."""
    for folder, first in folders("memory", proc, groups):
        if (left := _left(folder, _FIRST if first else _SECOND)) is not None:
            yield left


def _left(folder: Path, form: _Form) -> int | None:
    """Bytes; None without a limit."""
    with suppress(OSError, ValueError):  # "max" is no number
        most = int((folder / form.most).read_text(encoding="ascii"))
        used = int((folder / form.used).read_text(encoding="ascii"))
        stat = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        cached = next((int(each.split()[1]) for each in stat if each.split()[0] == form.cached), 0)
        return max(0, most - used + cached)
    return None


CONTAINERS = ("AIRFLOW_IS_K8S_EXECUTOR_POD", "AIRFLOW_IS_EXECUTOR_CONTAINER")
"""Variables of a container that Airflow has made for one task: of KubernetesExecutor, and of
executors in a cloud.
"""


def unfit_because(settings: Settings, records: int) -> str:
    """Why a run that reads so many records may not be warm; empty if it may. Raises SparkFailed or
    OSError where no socket can be.
    """
    if settings.warm == "auto" and (why := _short_lived()):
        return why
    if not settings.local:
        return f"Spark's master is {settings.master}, and a worker keeps a local one only"
    if is_remote(settings.root):
        return "the root is an object store, whose keys a JVM reads when it starts"
    if records >= C2_MIN_RECORDS:
        return f"it reads {records:,} records, for which the JVM compiles otherwise"
    path = socket_path(settings.root)
    if (length := len(os.fsencode(path))) > MOST_PATH_BYTES:
        return (
            f"the path of the worker's socket, {path}, has {length} bytes, and may have "
            f"{MOST_PATH_BYTES}: set TMPDIR to a shorter folder"
        )
    return ""


def no_room_because(settings: Settings) -> str:
    """Why no worker may be started now, for want of memory; empty if one may. Raises ValueError.

    It stays when its run has ended: the next cold run must find room beside it.
    """
    needs, free = needed_mb(settings), free_mb()
    if free < 2 * needs:
        return (
            f"{free:,} MB of memory are free; for a worker and a cold run beside it it takes "
            f"{2 * needs:,} (SLUICE_DRIVER_MEMORY)"
        )
    return ""


def short_because(settings: Settings) -> str:
    """Why a worker that nobody uses is to make room: a small cold run would not fit. Empty if it
    may stay. Raises ValueError.
    """
    needs, free = needed_mb(settings) // 2, free_mb()
    return (
        f"memory is short: {free:,} MB are free, and a run takes {needs:,}" if free < needs else ""
    )


def _short_lived() -> str:
    for name in CONTAINERS:
        if os.environ.get(name):
            return f"this is a container for one task ({name})"
    if 1 in {os.getpid(), os.getppid()}:
        return "it is all that its container or service runs, which ends a worker with it"
    return ""


def shown(socket: Path, *, ends: bool = False) -> Shown | None:
    """The worker at this socket; None if there is none that answers. `ends` asks it to end, behind
    the drain at work if there is one.
    """
    with suppress(BadMessage, Gone):
        if (link := connected(socket)) is not None:
            try:
                link.send(End() if ends else Look())
                answer = link.receive(PATIENCE_SECONDS)
            finally:
                link.close()
            return answer if isinstance(answer, Shown) else None
    return None


def lines(worker: Shown, log: Path) -> list[str]:
    """The worker in words."""
    work = f"at work: {worker.run}" if worker.run else "idle"
    return [
        f"process {worker.process} since {worker.started_at}: {worker.drains} drains, "
        f"{worker.memory_mb} MB, {work}",
        *([_idle_drains(worker)] if worker.idle_drains or worker.warms else []),
        *([f"it ends: {worker.ending}"] if worker.ending else []),
        f"log: {log}",
    ]


def _idle_drains(worker: Shown) -> str:
    more = "; more may come" if worker.warms else ""
    took = f"{worker.idle_seconds:.1f} processor seconds"
    return f"idle drains of its own: {worker.idle_drains}, {took}{more}"


def foretold(settings: Settings, records: int) -> str:
    """Whether a run that reads so many records would be warm now, and why."""
    try:
        return _foretold(settings, records)
    except (SluiceError, OSError, ValueError) as error:
        return f"a run now starts cold: no worker can be started: {error}"


def _foretold(settings: Settings, records: int) -> str:
    if settings.warm == "off":
        return "a run now starts cold: SLUICE_WARM is off"
    if why := unfit_because(settings, records):
        return f"a run now starts cold: {why}"
    every = socket_paths(settings.root)
    there = [found for path in every if (found := shown(path))]
    if free := [each for each in there if not each.run]:
        found = free[0]
        waits = f"worker {found.process} waits for one, with {found.memory_mb:,} MB"
        took = f"; {_idle_drains(found)}" if found.idle_drains else ""
        return f"a run now is warm: {waits}{took}"
    if len(there) == len(every):
        return "a run now starts cold: every worker is busy"
    wanted = settings.warm == "on" and not there
    if not wanted and (why := no_room_because(settings)):
        return f"a run now starts cold: {why}"
    most = f"up to {needed_mb(settings):,} MB"
    return f"a run now starts a worker, which waits for the next ones with {most} (SLUICE_WARM)"
