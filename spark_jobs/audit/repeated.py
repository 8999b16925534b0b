"""Repeated: whether Spark may have run a stage of a query more than once, so that its counts are
too high.

If an executor is lost, Spark makes its shuffle files again, and each task that runs again counts
again: observed metrics, the source's rows, a stateful operator's metrics. Rows are not doubled:
Spark takes a batch's output from each task once.

Within a job, this shows as a second attempt of a stage, or as more tasks than the stage has.
Between two jobs of a batch (a MERGE has several) it does not show: the later job makes the lost
files again in a new stage. So a lost executor is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_MS = 10_000
"""How long Spark's status store may lag behind its events."""


class Repeated:
    """Reads the stages of one query's jobs from Spark's status store, which works without the UI.

    `group` is the run id.
    """

    def __init__(self, spark: SparkSession, group: str) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001 - the store has no Python form
        gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - as above
        self._none = gateway.jvm.java.util.ArrayList()
        self._doubles = gateway.new_array(gateway.jvm.double, 0)
        self._group = group
        self._done = -1
        """The last job up to which all jobs have ended and were read."""
        self._lost = self._lost_executors()
        self._before = False

    def since_last(self) -> bool:
        """Whether a stage may have run twice since the call before the last one.

        True if Spark does not know.

        It covers two calls because a repeat may belong to the batch that still runs, whose progress
        comes with the next call.
        """
        repeated = self._repeated()
        again = repeated or self._before
        self._before = repeated
        return again

    def _repeated(self) -> bool:
        try:
            self._context.listenerBus().waitUntilEmpty(PATIENCE_MS)
            lost = self._lost_executors()
            newly_lost = bool(lost - self._lost)
            self._lost = lost
            return self._stage_ran_again() or newly_lost
        except Py4JJavaError:  # the store lags by more than that, or has removed a job
            return True

    def _lost_executors(self) -> set[str]:
        """Spark keeps only the last hundred."""
        executors = self._context.statusStore().executorList(False)
        all_of_them = [executors.apply(at) for at in range(executors.size())]
        return {executor.id() for executor in all_of_them if not executor.isActive()}

    def _stage_ran_again(self) -> bool:
        store = self._context.statusStore()
        repeated = False
        ended = True
        for number in sorted(self._context.statusTracker().getJobIdsForGroup(self._group)):
            if number <= self._done:
                continue
            job = store.job(number)
            stages = job.stageIds()
            repeated = repeated or any(
                self._ran_again(store, stages.apply(at)) for at in range(stages.size())
            )
            ended = ended and job.status().toString() != "RUNNING"
            if ended:
                self._done = number
        return repeated

    def _ran_again(self, store: Any, stage: int) -> bool:
        attempts = store.stageData(stage, False, self._none, False, self._doubles)
        # No attempt at all: Spark has removed the stage. A skipped stage has one.
        return attempts.size() != 1 or any(
            attempts.apply(at).numCompleteTasks() > attempts.apply(at).numTasks()
            for at in range(attempts.size())
        )
