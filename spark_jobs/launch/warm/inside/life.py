"""Life: how long a worker may live."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from spark_jobs.errors import CheckFailed
from spark_jobs.launch.warm.fits import short_because
from spark_jobs.launch.warm.stay import least_seconds
from spark_jobs.settings.installation import Settings

ENDED: Final = (0, CheckFailed.exit_status)
"""Exit statuses of runs that have done all that they had to. Whatever failed otherwise may have
left something at work.
"""


def _stays() -> str:
    return ""


class Limits(NamedTuple):
    """How long a worker may live."""

    drains: int
    idle_seconds: float
    """Without a run. A run may ask for more behind it."""
    memory_mb: int
    short_because: Callable[[], str] = _stays
    """Why one that nobody uses is to end at once; empty if it may stay."""

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The installation's limits."""
        return cls(
            int(settings.warm_drains),
            least_seconds(settings),
            int(settings.warm_memory_mb),
            partial(short_because, settings) if settings.warm == "auto" else _stays,
        )

    def end_because(self, status: int, drains: int, memory_mb: int) -> str:
        """Why the worker ends behind a drain with this exit status; empty if it does not.

        `drains`: how many it has done.
        """
        if status not in ENDED:
            return f"a drain ended with exit status {status}"
        if drains >= self.drains:
            return f"it has done {drains} drains (SLUICE_WARM_DRAINS)"
        if memory_mb > self.memory_mb:
            return f"it uses {memory_mb} MB, more than {self.memory_mb} (SLUICE_WARM_MEMORY_MB)"
        return ""
