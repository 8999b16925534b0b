"""Stall: ends a run in which nothing has moved for the spec's stall_timeout, and keeps what its
threads did.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

from spark_jobs.contract.errors import RunStalled
from spark_jobs.contract.paths import report_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from spark_jobs.run import Run

LOOKS = 30
"""How often to look in one stall_timeout; not more often than every SECONDS."""
SECONDS = 1.0
THREADS = ".threads.txt"
"""The ending of the file with the thread dump; the rest of its name is the report's."""

Movement = tuple[object, ...]


class StallWatch:
    """Watches one query, asked again and again by whoever waits for it.

    Movement is a batch that begins or ends, a Spark job that does, or a task that ends. A single
    task, or a single write to the table, that takes longer than stall_timeout counts as a stall.
    """

    def __init__(self, run: Run, query: StreamingQuery) -> None:
        self._run = run
        self._query = query
        self._limit = run.spec.stall_timeout.total_seconds()
        self._interval = max(SECONDS, self._limit / LOOKS)
        self._last: Movement = ()
        self._moved = self._looked = time.monotonic()

    def raise_if_stalled(self) -> None:
        """Raise RunStalled if nothing has moved for stall_timeout."""
        now = time.monotonic()
        if now - self._looked < self._interval:
            return
        self._looked = now
        movement = _movement(self._run.spark, self._query)
        if movement != self._last:
            self._last, self._moved = movement, now
        elif now - self._moved >= self._limit:
            raise self._stalled()

    def _stalled(self) -> RunStalled:
        name, run_id = self._run.spec.name, self._run.run_id
        # Of the root's text, as the report's: a run in Airflow and one by hand have it there.
        path = report_path(self._run.settings.root, name, run_id).with_suffix(THREADS)
        kept = "its threads could not be listed"
        with suppress(Exception):  # Whatever stands still may be the root, or the JVM.
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_threads(self._run.spark))
            kept = f"{path} has what each thread did"
        return RunStalled(
            f"no batch, job or task of {name} has begun or ended for "
            f"{self._run.spec.stall_timeout}; {kept}.",
            "If a task may take longer, lengthen stall_timeout, or bound a batch by "
            "max_offsets_per_batch. Committed batches stay, and the next run resumes.",
        )


def _movement(spark: SparkSession, query: StreamingQuery) -> Movement:
    tracker = spark.sparkContext.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds()))
    tasks = tuple((stage.stageId, stage.numCompletedTasks) for stage in stages if stage)
    last = query.lastProgress
    return (last.batchId if last else None, tuple(sorted(tracker.getActiveJobsIds())), tasks)


def _threads(spark: SparkSession) -> str:
    """What each thread of the JVM does, as jstack prints it, and each thread of this Python.

    Source: org.apache.spark.util.Utils.getThreadDump, which Spark's own page of threads shows.
    """
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to its JVM
    assert jvm is not None
    dump = jvm.org.apache.spark.util.Utils.getThreadDump()
    return "\n".join([*(thread.toString() for thread in dump), _python_threads()])


def _python_threads() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way to them
        stack = "".join(traceback.format_stack(frame))
        parts.append(f"Python thread {names.get(ident, ident)}:\n{stack}")
    return "\n".join(parts)
