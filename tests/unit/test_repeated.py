"""What of Spark's status store makes a batch's counts doubtful: a stand-in of the store, with what
the real one would say.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from spark_jobs.audit.repeated import Repeated

ONCE, TWICE, RESUBMITTED, FORGOTTEN = [(2, 2)], [(2, 2), (1, 1)], [(3, 2)], []
"""A stage's attempts: tasks that succeeded, and tasks that it has."""


class Seq(list[Any]):
    """Of Scala."""

    def size(self) -> int:
        return len(self)

    def apply(self, at: int) -> Any:
        return self[at]


class Spark:
    """What Repeated asks a session."""

    def __init__(self) -> None:
        self.jobs: dict[int, tuple[str, list[list[tuple[int, int]]]]] = {}
        self.alive = {"driver": True, "0": True, "1": True}
        self.lags = False
        store = SimpleNamespace(job=self._job, stageData=self._stage, executorList=self._executors)
        tracker = SimpleNamespace(getJobIdsForGroup=lambda _: list(self.jobs))
        context = SimpleNamespace(
            listenerBus=lambda: SimpleNamespace(waitUntilEmpty=self._wait),
            statusStore=lambda: store,
            statusTracker=lambda: tracker,
        )
        jvm = SimpleNamespace(
            java=SimpleNamespace(util=SimpleNamespace(ArrayList=list)), double=float
        )
        self.sparkContext = SimpleNamespace(
            _jsc=SimpleNamespace(sc=lambda: context),
            _gateway=SimpleNamespace(jvm=jvm, new_array=lambda *_: []),
        )

    def _wait(self, _: int) -> None:
        if self.lags:
            raise Py4JJavaError("it lags", SimpleNamespace(_target_id="o1", _gateway_client=None))

    def _job(self, number: int) -> Any:
        status, stages = self.jobs[number]
        ids = Seq(number * 10 + at for at in range(len(stages)))
        return SimpleNamespace(
            stageIds=lambda: ids, status=lambda: SimpleNamespace(toString=lambda: status)
        )

    def _stage(self, stage: int, *_: Any) -> Seq:
        attempts = self.jobs[stage // 10][1][stage % 10]
        return Seq(
            SimpleNamespace(numCompleteTasks=lambda done=done: done, numTasks=lambda of=of: of)
            for done, of in attempts
        )

    def _executors(self, _: bool) -> Seq:
        return Seq(
            SimpleNamespace(id=lambda name=name: name, isActive=lambda there=there: there)
            for name, there in self.alive.items()
        )


@pytest.fixture
def spark() -> Spark:
    return Spark()


@pytest.mark.parametrize(
    ("stage", "again"), [(ONCE, False), (TWICE, True), (RESUBMITTED, True), (FORGOTTEN, True)]
)
def test_a_second_attempt_a_task_too_many_and_a_stage_that_spark_has_forgotten_make_counts_doubtful(
    spark, stage, again
):
    repeated = Repeated(spark, "run")
    spark.jobs[0] = ("SUCCEEDED", [ONCE, stage])
    assert repeated.since_last() is again


def test_what_is_found_in_the_jobs_of_the_next_batch_is_that_batchs_too(spark):
    repeated = Repeated(spark, "run")
    spark.jobs = {0: ("SUCCEEDED", [ONCE]), 1: ("SUCCEEDED", [TWICE]), 2: ("RUNNING", [ONCE])}
    assert repeated.since_last(), "job 1 is of the batch that still runs: nobody knows yet"
    spark.jobs[2] = ("SUCCEEDED", [ONCE])
    assert repeated.since_last(), "that batch has ended"
    assert not repeated.since_last()


def test_an_executor_that_is_lost_between_two_jobs_of_a_batch_makes_its_counts_doubtful_though_no_stage_ran_twice(
    spark,
):
    spark.alive["0"] = False
    repeated = Repeated(spark, "run")
    spark.jobs[0] = ("SUCCEEDED", [ONCE])
    assert not repeated.since_last(), "0 was lost before the query"
    spark.alive["1"] = False
    spark.jobs[1] = ("SUCCEEDED", [ONCE])
    assert [repeated.since_last() for _ in range(3)] == [True, True, False]


def test_a_store_that_lags_behind_makes_counts_doubtful_and_what_it_had_not_told_is_looked_at_next_time(
    spark,
):
    repeated = Repeated(spark, "run")
    spark.jobs[0] = ("SUCCEEDED", [ONCE])
    spark.lags = True
    assert repeated.since_last()
    spark.lags = False
    spark.jobs[1] = ("SUCCEEDED", [TWICE])
    assert repeated.since_last()
