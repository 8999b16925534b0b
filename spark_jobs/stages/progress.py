"""What Spark reports of a batch while it is running, in Sluice's words."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from pyspark.sql.streaming import StreamingQuery

from spark_jobs.contract.report import StateUse


class Progress(NamedTuple):
    """One batch's StreamingQueryProgress, as its JSON says it."""

    batch_id: int
    seconds: float
    read: int
    observed: dict[str, dict[str, Any]]
    operators: tuple[dict[str, Any], ...]
    """In the order of the pipeline's steps; Spark lists them from the last to the first."""

    @property
    def state(self) -> StateUse | None:
        """Rows and bytes in all stores; None where the batch reported no operator (it had no data and moved nothing)."""
        if not self.operators:
            return None
        return StateUse(
            rows=sum(o["numRowsTotal"] for o in self.operators), bytes=sum(o["memoryUsedBytes"] for o in self.operators)
        )

    def counted(self, name: str, field: str) -> int:
        """An observed count; 0 where the batch had no rows to observe."""
        return int(self.observed.get(name, {}).get(field) or 0)


def progress_of(query: StreamingQuery) -> dict[int, Progress]:
    """Batch id -> progress, for the batches that the driver still remembers. A trigger that ran no batch reports one too."""
    events = (json.loads(event.json) for event in query.recentProgress)
    return {event["batchId"]: _read(event) for event in events if "addBatch" in event["durationMs"]}


def _read(event: dict[str, Any]) -> Progress:
    return Progress(
        event["batchId"], event["durationMs"].get("triggerExecution", 0) / 1000, event["numInputRows"],
        event.get("observedMetrics") or {}, tuple(reversed(event["stateOperators"])),
    )
