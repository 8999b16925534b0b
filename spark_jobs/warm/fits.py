"""Fits: which runs may go through a worker. The others start cold, and say why."""

from __future__ import annotations

from spark_jobs.contract.settings import Settings
from spark_jobs.contract.store import is_remote
from spark_jobs.launch.submit import C2_MIN_RECORDS


def unfit_because(settings: Settings, records: int) -> str:
    """Why a run that reads so many records may not be warm; empty if it may."""
    if not settings.local:
        return f"Spark's master is {settings.master}, and a worker keeps a local one only"
    if is_remote(settings.root):
        return "the root is an object store, whose keys a JVM reads when it starts"
    if records >= C2_MIN_RECORDS:
        return f"it reads {records:,} records, for which the JVM compiles otherwise"
    return ""
