"""Follower: the progress of a query's batches, read while it runs.

The rows of a new state are added up from what its batches put and removed. To count them Spark
reads each row of RocksDB before it writes it: 5 % of a first load, and nothing of a delivery
(bench/NOTES.md). So only a pipeline's first query goes without. The next one counts once what it
finds (RocksDB.openLocalRocksDB of Spark 4.2), and Spark goes on from there.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming import StreamingQuery

from spark_jobs.audit.progress import Event, Progress
from spark_jobs.spec import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.audit.repeated import Repeated
    from spark_jobs.spec import Pipeline

COUNTED: Final = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


def adds_up(spec: Pipeline) -> bool:
    """Whether each row that a first query puts is a new one.

    A Deduplicate puts an id once. An Aggregate puts a group in each batch that has rows of it: so
    the query must have one batch with data, and no step before may keep rows for a later one.
    """
    steps = [step for step in spec.steps if step.stateful]
    groups = [step for step in steps if step.aggregates]
    others = [step for step in steps if not step.aggregates]
    return (
        all(step.balance.drops_duplicates for step in others)
        and len(groups) <= 1
        and not (groups and spec.max_offsets_per_batch)
        and not any(isinstance(step.grouping_window, Session) for step in groups)
        and spec.output_mode != "complete"
    )


class StateRows:
    """Of one query, whose state was empty."""

    def __init__(self) -> None:
        self._next = 0
        self._rows = Counter[int]()
        """The operator's place among the operators -> its rows."""

    def after(self, batch: int, gained: Sequence[int]) -> list[int | None]:
        """The rows of each operator after the next batch, by how many it has gained; None behind a
        batch that nobody saw.
        """
        if batch != self._next:
            return [None] * len(gained)
        self._next += 1
        self._rows.update(dict(enumerate(gained)))
        return [self._rows[number] for number in range(len(gained))]


class Follower:
    """Collects the progress of a query's batches while it runs.

    Spark's driver keeps only the last hundred.
    """

    def __init__(
        self, query: StreamingQuery, repeated: Repeated | None = None, rows: StateRows | None = None
    ) -> None:
        """Without `repeated`, no stage is expected to run twice: local mode cannot lose an
        executor. Without `rows`, Spark counts the state's rows.
        """
        self._rows = rows
        self._repeated = repeated
        # PySpark's own recentProgress renders and parses all of them at each call, five times a
        # second.
        self._recent = query._jsq.recentProgress  # noqa: SLF001
        self._last = ""
        self._progress: dict[int, Progress] = {}

    def progress(self) -> dict[int, Progress]:
        """Batch id -> its progress, of all batches so far.

        Progress of a trigger without a batch is left out.
        """
        events = [event for event in self._unseen() if "addBatch" in event["durationMs"]]
        again = bool(events) and self._repeated is not None and self._repeated.since_last()
        for event in events:
            self._progress[event["batchId"]] = self._seen(event)._replace(repeated=again)
        return self._progress

    def _seen(self, event: Event) -> Progress:
        progress = Progress.of(event)
        if self._rows is None:
            return progress
        gained = [operator.gained for operator in progress.operators]
        totals = self._rows.after(progress.batch_id, gained)
        both = zip(progress.operators, totals, strict=True)
        return progress._replace(operators=tuple(each.with_rows(total) for each, total in both))

    def _unseen(self) -> list[Event]:
        recent = self._recent()
        unseen = list[Any]()  # objects of the JVM
        for at in reversed(range(len(recent))):
            if recent[at].timestamp() == self._last:
                break
            unseen.insert(0, recent[at])
        self._last = unseen[-1].timestamp() if unseen else self._last
        return [json.loads(event.json()) for event in unseen]
