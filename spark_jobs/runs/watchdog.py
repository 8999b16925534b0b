"""Watchdog: ends the process of a run that stands still and cannot say so itself.

stall.py is asked by the thread that waits for the query. A thread that is stuck (in a call into a
JVM that stands still, on a disk that does not answer, in the audit or a check) asks nobody. The
watchdog is a thread of its own, for the whole of a run until its report is written. It calls
nothing that can wait without end: Spark is asked by another thread, whose answers it reads.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from pyspark import SparkContext

from spark_jobs.errors import RunStalled
from spark_jobs.launch.processes import kill_jvm
from spark_jobs.messages.kind import Kind
from spark_jobs.messages.report import Report
from spark_jobs.runs.run_record import append_once
from spark_jobs.runs.watch.stall import (
    MISSED,
    OUTSIDE_SECONDS,
    PULSE,
    SECONDS,
    Movement,
    Stillness,
    jvm_threads,
    keep,
    python_threads,
    sparks_movement,
    stalled,
)
from spark_jobs.settings.installation import Settings

if TYPE_CHECKING:
    from upath import UPath

LOG = logging.getLogger(__name__)
T = TypeVar("T")
ANSWER_SECONDS = 10.0
"""How long the JVM, and the root, have for each thing that is asked of them at the end."""


class Watchdog:
    """Watches one run, from `watch` to the end of the block.

    The block must end after the run's report is written. If nothing moves for the spec's
    stall_timeout (outside of the query for OUTSIDE_SECONDS at least), the watchdog writes the
    threads and a report, kills the JVM and ends the process.
    A lease on a disk ends with the process; one on an object store expires.
    """

    def __init__(self, kind: Kind, pipeline: str, run_id: str, report: UPath | None) -> None:
        """Without a path for the report, it writes neither report nor row: `sluice repartition`."""
        self._kind: Kind = kind
        self._pipeline = pipeline
        self._run_id = run_id
        self._report_path = report
        self._started_at = datetime.now(UTC)
        self._interval = SECONDS
        self._spark: Movement = ()
        self._over = threading.Event()
        self._ending = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Does not return if the watchdog ends the process now."""
        self._over.set()
        with self._ending:
            pass

    def watch(self, stall_timeout: timedelta, settings: Settings) -> None:
        """Begin to watch."""
        limit, now = stall_timeout.total_seconds(), time.monotonic()
        # stall.py comes first, where it can. On a cluster a run may wait for executors.
        more = MISSED * Stillness(limit, now).interval
        more += 0 if settings.local else int(settings.executor_wait)
        stillness = Stillness(limit, now, more)
        self._interval, self._limit, self._root = stillness.interval, stall_timeout, settings.root
        _begin("watchdog-spark", self._ask_spark)
        _begin("watchdog", lambda: self._watch(stillness))

    def _ask_spark(self) -> None:
        while not self._over.wait(self._interval):
            with suppress(Exception):  # no session yet, or none any more
                context = SparkContext._active_spark_context  # noqa: SLF001 - a getter would wait for its lock
                if context is not None:
                    self._spark = sparks_movement(context)

    def _watch(self, stillness: Stillness) -> None:
        while not self._over.wait(self._interval):
            least = 0 if PULSE.querying else OUTSIDE_SECONDS
            if stillness.too_long((PULSE.beats, self._spark), time.monotonic(), least):
                self._end_process()

    def _end_process(self) -> None:
        with self._ending:
            if self._over.is_set():
                return
            ends = True
            try:
                ends = self._tell()
            finally:
                if ends:
                    kill_jvm()  # first: without the lease nothing may write
                    os._exit(RunStalled.exit_status)

    def _tell(self) -> bool:
        """False, and no report, if the run came free meanwhile."""
        jvm = _answer(_jvm_threads) or "The JVM did not answer: it has no threads here."
        python = _answer(python_threads) or "The driver's code could not be read."
        dump = f"{jvm}\n{python}"
        kept = _answer(lambda: keep(dump, self._root, self._pipeline, self._run_id))
        if self._over.is_set():
            return False
        problem = stalled(self._pipeline, self._limit, kept or "")
        if (path := self._report_path) is not None:
            known = (self._kind, self._pipeline, self._run_id, problem, self._started_at)
            report = Report.of_failure(*known)
            _answer(lambda: report.write(path))
            _answer(lambda: append_once(report, self._root))
        # What a driver prints goes through its JVM: this line is lost if that stands still.
        _answer(lambda: LOG.error("%s", problem))
        return True


def _begin(name: str, work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True)
    thread.start()
    return thread


def _answer(work: Callable[[], T]) -> T | None:
    """None if it fails, or has not returned within ANSWER_SECONDS."""
    answers = list[T]()

    def ask() -> None:
        with suppress(Exception):
            answers.append(work())

    with suppress(RuntimeError):  # no more threads may be started
        _begin("watchdog-asks", ask).join(ANSWER_SECONDS)
    return next(iter(answers), None)


def _jvm_threads() -> str:
    context = SparkContext._active_spark_context  # noqa: SLF001 - as above
    return jvm_threads(context) if context is not None else ""
