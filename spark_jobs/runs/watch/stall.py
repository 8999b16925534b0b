"""Stall: ends a run in which nothing has moved for the spec's stall_timeout, and keeps what its
threads did.

It is asked by the thread that waits for the query, so that the run ends as any run that fails: its
query is stopped, and its batches have their account. watchdog.py is for a thread that is stuck
itself, and asks as this one how long nothing has moved.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from spark_jobs.errors import RunStalled
from spark_jobs.spec.duration import interval
from spark_jobs.storage.root.paths import report_path

if TYPE_CHECKING:
    from types import FrameType

    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from spark_jobs.checkpoint.run import Run

LOOKS = 30
"""How often to look in one stall_timeout; not more often than every SECONDS."""
SECONDS = 1.0
MISSED = 3
"""How many looks may be missed before the time without them does not count: nobody knows what
moved then.
"""

OUTSIDE_SECONDS = 300.0
"""What a run has at least for each phase but its query, in which less is seen to move: the start of
Spark, the import of Great Expectations, the checks.
"""

Movement = tuple[object, ...]
"""What differs if something has moved since the last look."""


class Pulse:
    """Counts what moves in a run outside of Spark: a phase that ends."""

    def __init__(self) -> None:
        self.beats = 0
        self.querying = False
        """Whether a query runs: then batches, jobs and tasks show that something moves."""

    def beat(self) -> None:
        """Something has moved."""
        self.beats += 1


PULSE = Pulse()
"""Of the runs of this process."""


class Stillness:
    """Compares what each look finds. Times are seconds of the monotonic clock."""

    def __init__(self, stall_timeout: float, now: float, more: float = 0) -> None:
        """`more`: seconds on top of stall_timeout."""
        self.interval = max(SECONDS, stall_timeout / LOOKS)
        """How often to look."""
        self._limit = stall_timeout + more
        self._last: Movement = ()
        self._moved = self._looked = now

    def due(self, now: float) -> bool:
        """Whether it is time to look."""
        return now - self._looked >= self.interval

    def too_long(self, movement: Movement, now: float, least: float = 0) -> bool:
        """Whether nothing has moved for the limit, and for `least` seconds. `movement`: what this
        look finds.
        """
        missed = now - self._looked > MISSED * self.interval
        self._looked = now
        if missed or movement != self._last:
            self._last, self._moved = movement, now
        return now - self._moved >= max(self._limit, least)


THREADS = ".threads.txt"
"""The ending of the file with the thread dump; the rest of its name is the report's."""


class StallWatch:
    """Watches one query, asked again and again by its run.

    Movement is a batch that begins or ends, a Spark job that does, or a task that ends. A single
    task, or a single write to the table, that takes longer than stall_timeout counts as a stall.
    """

    def __init__(self, run: Run, query: StreamingQuery) -> None:
        self._run = run
        self._query = query
        self._stillness = Stillness(run.spec.stall_timeout.total_seconds(), time.monotonic())

    def raise_if_stalled(self) -> None:
        """Raise RunStalled if nothing has moved for stall_timeout."""
        now = time.monotonic()
        if not self._stillness.due(now):
            return
        if self._stillness.too_long(_movement(self._run.spark, self._query), now):
            PULSE.beat()  # the watchdog lets the run end by this
            raise self._stalled()

    def _stalled(self) -> RunStalled:
        run, kept = self._run, ""
        with suppress(Exception):  # Whatever stands still may be the root, or the JVM.
            dump = f"{jvm_threads(run.spark.sparkContext)}\n{python_threads()}"
            kept = keep(dump, run.settings.root, run.spec.name, run.run_id)
        return stalled(run.spec.name, run.spec.stall_timeout, kept)


def stalled(name: str, limit: timedelta, kept: str) -> RunStalled:
    """The error. `kept`: the path of the thread dump; empty if there is none."""
    threads = f"{kept} has what each thread did" if kept else "No thread dump could be written"
    return RunStalled.stood_still(pipeline=name, limit=interval(limit), threads=threads)


def keep(dump: str, root: str, name: str, run_id: str) -> str:
    """Write the thread dump, and return its path."""
    # Of the root's text, as the report's: a run in Airflow and one by hand have it there.
    path = report_path(root, name, run_id).with_suffix(THREADS)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump)
    return str(path)


def _movement(spark: SparkSession, query: StreamingQuery) -> Movement:
    last = query.lastProgress
    return (last.batchId if last else None, *sparks_movement(spark.sparkContext))


def sparks_movement(context: SparkContext) -> Movement:
    """How many jobs have begun, which have not ended, and how many tasks of each stage have.

    Source: DAGScheduler.numTotalJobs. Without it, short jobs between two looks would not be seen.
    """
    tracker = context.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds()))
    tasks = tuple((stage.stageId, stage.numCompletedTasks) for stage in stages if stage)
    begun = context._jsc.sc().dagScheduler().numTotalJobs()  # noqa: SLF001 - as below
    return (begun, tuple(sorted(tracker.getActiveJobsIds())), tasks)


def jvm_threads(context: SparkContext) -> str:
    """What each thread of the JVM does, as jstack prints it.

    Source: org.apache.spark.util.Utils.getThreadDump, which Spark's own page of threads shows.
    """
    jvm = context._jvm  # noqa: SLF001 - PySpark has no public way to its JVM
    assert jvm is not None
    return "\n".join(
        thread.toString() for thread in jvm.org.apache.spark.util.Utils.getThreadDump()
    )


def python_threads() -> str:
    """What each thread of this Python does."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in _frames().items():
        stack = "".join(traceback.format_stack(frame))
        parts.append(f"Python thread {names.get(ident, ident)}:\n{stack}")
    return "\n".join(parts)


def _frames() -> dict[int, FrameType]:
    """Without a collection of garbage meanwhile: before 3.11.8 and 3.12.2 it waits for itself, for
    ever (CPython's issue 106883).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()  # noqa: SLF001 - the documented way to them
    finally:
        if collects:
            gc.enable()
