"""What Spark reports of a batch while it is running, in Sluice's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from pyspark.sql.streaming import StreamingQuery

from spark_jobs.audit.repeated import Repeated
from spark_jobs.contract.metrics import REPORTED
from spark_jobs.contract.report import StateUse

Event = dict[str, Any]
"""A StreamingQueryProgress as parsed from its JSON."""


class OperatorProgress(NamedTuple):
    """What one stateful operator reports of one batch (Spark's StateOperatorProgress)."""

    name: str
    reported: Mapping[str, int]
    """contract/metrics.py REPORTED."""
    custom: Mapping[str, int]
    """All of its customMetrics: an operator, and its store, have each their own."""

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """From its JSON."""
        return cls(event["operatorName"], {name: int(event[name]) for name in REPORTED}, event.get("customMetrics") or {})

    @property
    def duplicates(self) -> int:
        """Rows that a deduplication dropped."""
        return int(self.custom.get("numDroppedDuplicateRows", 0))

    @property
    def stored_bytes(self) -> int:
        """What its state takes: memory, and RocksDB's files."""
        return self.reported["memoryUsedBytes"] + int(self.custom.get("rocksdbSstFileSize") or 0)


class Progress(NamedTuple):
    """One batch's StreamingQueryProgress."""

    batch_id: int
    seconds: float
    read: int
    observed: dict[str, dict[str, Any]]
    """Name of an observed metric -> its fields as JSON: numbers, and under `kept` a list of records."""
    operators: tuple[OperatorProgress, ...]
    """In the order of the pipeline's steps; Spark lists them from the last to the first."""
    repeated: bool = False
    """Whether a stage may have run more than once, so that counts may be too high."""

    @classmethod
    def of(cls, event: Event) -> Self:
        """From its JSON."""
        operators = tuple(OperatorProgress.of(operator) for operator in reversed(event["stateOperators"]))
        seconds = event["durationMs"].get("triggerExecution", 0) / 1000
        return cls(event["batchId"], seconds, event["numInputRows"], event.get("observedMetrics") or {}, operators)

    @property
    def state(self) -> StateUse | None:
        """Rows and bytes in all stores; None where the batch reported no operator (it had no data and moved nothing)."""
        if not self.operators:
            return None
        rows = [operator.reported["numRowsTotal"] for operator in self.operators]
        return StateUse(rows=sum(rows), open=rows[-1], bytes=sum(operator.stored_bytes for operator in self.operators))

    @property
    def dropped(self) -> int:
        """What all operators dropped as late: rows, but of an aggregation groups."""
        return sum(operator.reported["numRowsDroppedByWatermark"] for operator in self.operators)

    def captured(self, name: str) -> list[dict[str, Any]]:
        """The raw records that were observed under that name, as classify/capture.py makes them and JSON has them."""
        return list(self.observed.get(name, {}).get("kept") or ())

    def counted(self, name: str, field: str) -> int:
        """An observed count; 0 where the batch had no rows to observe."""
        return int(self.observed.get(name, {}).get(field) or 0)


class Follower:
    """Collects the progress of a query's batches while it runs; the driver itself forgets all but the last hundred."""

    def __init__(self, query: StreamingQuery, repeated: Repeated | None = None) -> None:
        """Without `repeated` no stage is expected to run more than once: no executor can be lost in local mode."""
        self._repeated = repeated
        # PySpark's own recentProgress renders and parses all of them at each call, five times a second.
        self._recent = query._jsq.recentProgress  # noqa: SLF001
        self._last = ""
        self._found: dict[int, Progress] = {}

    def progress(self) -> dict[int, Progress]:
        """Batch id -> progress, so far. A trigger that ran no batch reports one too, which is left out."""
        events = [event for event in self._unseen() if "addBatch" in event["durationMs"]]
        again = bool(events) and self._repeated is not None and self._repeated.since_last()
        for event in events:
            self._found[event["batchId"]] = Progress.of(event)._replace(repeated=again)
        return self._found

    def _unseen(self) -> list[Event]:
        """Those that have come since the last call. Each trigger has a time of its own."""
        recent, unseen = self._recent(), list[Any]()  # objects of the JVM
        for at in reversed(range(len(recent))):
            if recent[at].timestamp() == self._last:
                break
            unseen.insert(0, recent[at])
        self._last = unseen[-1].timestamp() if unseen else self._last
        return [json.loads(event.json()) for event in unseen]
