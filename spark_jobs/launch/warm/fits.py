"""Fits: which runs may go through a worker, and whether one may be started. The others start cold,
and say why.
"""

from __future__ import annotations

import os

from spark_jobs.launch.memory import free_mb, needed_mb
from spark_jobs.launch.submit import C2_MIN_RECORDS
from spark_jobs.launch.warm.place import MOST_PATH_BYTES, socket_path
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.store import is_remote

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
