"""Waiting: tells Airflow that records of a pipeline's topic wait, so that a run of its DAG starts.

It keeps nothing: a triggerer that starts anew looks at the checkpoint, the brokers and Airflow's
runs as the one before did.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from spark_jobs.source.positions import Positions

if TYPE_CHECKING:
    from sluice_airflow.triggers.found import Waiting

AGAIN_SECONDS = 900.0
"""Until it is told again where no run has read anything: it failed, or the DAG is paused. Each time
twice as long, since what fails for good has its cron.
"""
MOST_SECONDS = 86400.0
ACTIVE = ["queued", "running"]


class Telling:
    """When to tell, and when not again."""

    def __init__(self, at_least: int) -> None:
        self.at_least = at_least
        self._told: Positions | None = None
        """The checkpoint's then."""
        self._again = 0.0
        self._patience = AGAIN_SECONDS

    def due(self, found: Waiting, now: float) -> bool:
        """Whether to tell of what was found, at this time of a clock that only grows; once then."""
        if found.busy or found.new < self.at_least:
            return False
        same = found.done == self._told
        if same and now < self._again:
            return False  # the run that it has asked for has read nothing yet
        self._patience = min(self._patience * 2, MOST_SECONDS) if same else AGAIN_SECONDS
        self._told, self._again = found.done, now + self._patience
        return True


class RecordsWait(BaseEventTrigger):
    """An event whenever `at_least` offsets wait and no run of the DAG is queued or at work; it
    looks `every` so many seconds.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        dag_id: str,
        every: float,
        at_least: int,
        watched: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        """`watched`: watched.py's, as JSON has it."""
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]  # Airflow's own
        self.pipeline = pipeline
        self.dag_id = dag_id
        self.every = every
        self.at_least = at_least
        self.watched = watched

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("pipeline", "dag_id", "every", "at_least", "watched")
        own = {name: getattr(self, name) for name in names}
        return f"{__name__}.{type(self).__name__}", own

    async def run(self) -> AsyncIterator[TriggerEvent]:
        telling = Telling(self.at_least)
        while True:
            # First of all: an event of the triggerer before this one is a run by then.
            await asyncio.sleep(self.every)
            try:
                found = await asyncio.to_thread(self._look)
            except Exception as error:  # noqa: BLE001 - a trigger that raises is never run again
                self.log.warning("%s: cannot tell what waits: %s", self.pipeline, error)
                continue
            if found is not None and telling.due(found, time.monotonic()):
                payload = {"pipeline": self.pipeline, "offsets": found.new}
                yield TriggerEvent(payload)  # type: ignore[no-untyped-call]  # Airflow's own

    def _look(self) -> Waiting | None:
        """None if a run is queued or at work. It blocks, so never in the loop."""
        from sluice_airflow.connections.kafka import task_settings  # noqa: PLC0415 - loads what a DAG's parsing does not need
        from sluice_airflow.triggers.found import waiting  # noqa: PLC0415 - as above
        from sluice_airflow.triggers.watched import Watched  # noqa: PLC0415 - as above

        # Before and after: one that ends in between has read what seems to wait.
        if self._active():
            return None
        watched = Watched(**self.watched)
        found = waiting(self.pipeline, watched, task_settings(watched.cluster, watched.root))
        return None if self._active() else found

    def _active(self) -> bool:
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance  # noqa: PLC0415 - as above

        return RuntimeTaskInstance.get_dr_count(dag_id=self.dag_id, states=ACTIVE) > 0
