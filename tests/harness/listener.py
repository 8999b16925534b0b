"""Listener: what publish asks Airflow, and what Airflow has of it, without Airflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish

if TYPE_CHECKING:
    from spark_jobs.messages.event import Event
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


class Listener:
    """Has the events that were told, in their order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @property
    def announced(self) -> Announced:
        """The newest."""
        newest = max(self.events, key=lambda each: each.number, default=None)
        if newest is None:
            return Announced()
        return Announced(newest.number, newest.generation, newest.table_version)

    def publish(self, paths: Paths, spec: Pipeline) -> Event | None:
        """The newest event that the task tells; None if it skips itself."""
        events = publish(paths, spec, self.announced)
        self.events += events
        return events[-1] if events else None
