"""Sessions: where a run gets its Spark session: on this machine, or on a cluster."""

from __future__ import annotations

from pkgutil import resolve_name
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from spark_jobs.launch.session import session
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER: Final = "spark_jobs.launch.cluster:Cluster"
"""What has executors on other machines, and waits for them."""


class Sessions:
    """The session's place, for a block of a run. This one has all of Spark in one process."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is left open."""

    def session(self, state: State) -> SparkSession:
        """The Spark session."""
        return session(self._name, state, self._settings.root)


def sessions_of(name: str, settings: Settings) -> Sessions:
    """By the installation's master."""
    made: Sessions = (Sessions if settings.local else resolve_name(CLUSTER))(name, settings)
    return made
