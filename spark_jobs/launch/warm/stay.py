"""Stay: how long a worker waits for another run.

A worker that ends between two scheduled runs makes each of them start cold. One that waits holds
its memory for that long, so it waits for runs of often drained pipelines alone.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from spark_jobs.errors import SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.variables import BY_SCHEDULE
from spark_jobs.spec.cron import longest_wait

USUAL = timedelta(minutes=15)
"""Behind a run whose pipeline has no scheduled run soon."""
SOON = timedelta(hours=2)
LATE = timedelta(minutes=10)
"""How much later than its time a scheduled run may come."""


def least_seconds(settings: Settings) -> float:
    """How long a worker waits at least, also before its first run."""
    by_schedule = settings.warm_idle_minutes == BY_SCHEDULE
    return USUAL.total_seconds() if by_schedule else 60.0 * int(settings.warm_idle_minutes)


def idle_seconds(settings: Settings, pipeline: str) -> float:
    """How long a worker waits behind a run of this pipeline. By schedule: until its next one, if
    two of them are never further apart than SOON.
    """
    least = least_seconds(settings)
    if settings.warm_idle_minutes != BY_SCHEDULE:
        return least
    with suppress(SluiceError):  # a preview's pipeline may not be found by its name
        wait = longest_wait(registry.load(pipeline).schedule.cron)
        if wait <= SOON:
            return max(least, (wait + LATE).total_seconds())
    return least
