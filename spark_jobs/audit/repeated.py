"""Repeated: whether Spark may have run a stage of a query more than once, so that what it counted on the way is too high.

Where an executor is lost, its part of a shuffle is made again, and every task that runs again counts again: observed metrics,
the source's rows, a stateful step's own. Rows are not doubled by it: a batch's output is taken from each task once.

Within a job that shows as a second attempt of a stage, or as more tasks than it has. Between two jobs of a batch (a MERGE has
several) it shows nowhere: the later job makes the lost part again in a stage with a number of its own. So a lost executor is
enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_MS = 10_000
"""How long Spark's own record of tasks may lag behind."""


class Repeated:
    """The stages of one query's jobs, by Spark's status store, which is there without its pages too. `group` is its run id."""

    def __init__(self, spark: SparkSession, group: str) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001 - the store has no Python form
        self._none = spark.sparkContext._gateway.jvm.java.util.ArrayList()  # type: ignore[union-attr]  # noqa: SLF001 - as above
        self._doubles = spark.sparkContext._gateway.new_array(  # type: ignore[union-attr]  # noqa: SLF001 - as above
            spark.sparkContext._gateway.jvm.double, 0)  # type: ignore[union-attr]  # noqa: SLF001 - as above
        self._group = group
        self._done = -1
        """The last job up to which all have ended and were looked at."""
        self._gone = self._dead()
        self._before = False

    def since_last(self) -> bool:
        """Whether one may have in this look or the last one; what a look finds may be of the batch that runs meanwhile.

        That batch's progress comes with the next look. True where Spark cannot tell.
        """
        found = self._found()
        again, self._before = found or self._before, found
        return again

    def _found(self) -> bool:
        try:
            self._context.listenerBus().waitUntilEmpty(PATIENCE_MS)
            dead = self._dead()
            lost, self._gone = bool(dead - self._gone), dead
            return self._any() or lost
        except Py4JJavaError:  # it lags behind by more than that, or has forgotten a job
            return True

    def _dead(self) -> set[str]:
        """The executors that are gone, as far as Spark remembers: it forgets all but the last hundred."""
        executors = self._context.statusStore().executorList(False)
        all_of_them = [executors.apply(at) for at in range(executors.size())]
        return {executor.id() for executor in all_of_them if not executor.isActive()}

    def _any(self) -> bool:
        store, found, ended = self._context.statusStore(), False, True
        for number in sorted(self._context.statusTracker().getJobIdsForGroup(self._group)):
            if number <= self._done:
                continue
            job = store.job(number)
            stages = job.stageIds()
            found = found or any(self._ran_again(store, stages.apply(at)) for at in range(stages.size()))
            ended = ended and job.status().toString() != "RUNNING"
            if ended:
                self._done = number
        return found

    def _ran_again(self, store: Any, stage: int) -> bool:
        attempts = store.stageData(stage, False, self._none, False, self._doubles)
        # None at all: Spark has forgotten the stage, which it keeps otherwise also where it was skipped.
        return attempts.size() != 1 or any(
            attempts.apply(at).numCompleteTasks() > attempts.apply(at).numTasks() for at in range(attempts.size()))
