"""Fits: which runs may go through a worker. The others start cold, and say why."""

from __future__ import annotations

import os

from spark_jobs.launch.submit import C2_MIN_RECORDS
from spark_jobs.root.store import is_remote
from spark_jobs.settings.installation import Settings
from spark_jobs.warm.place import MOST_PATH_BYTES, socket_path


def unfit_because(settings: Settings, records: int) -> str:
    """Why a run that reads so many records may not be warm; empty if it may. Raises SparkFailed or
    OSError where no socket can be.
    """
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
