"""The limits of a run: which batch may run."""

from typing import Any

from spark_jobs.errors import Stopped
from spark_jobs.runs.watch import limits
from spark_jobs.runs.watch.limits import RunLimits, StopRequest
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from tests.unit.specs import group_state, pipeline

DATA, NO_DATA = (
    Batch(0, Positions({0: 0}), Positions({0: 10}), 0, 0),
    Batch(1, Positions({0: 10}), Positions({0: 10}), 0, 0),
)
LATER = [DATA._replace(id=number) for number in (2, 3, 4)]


def test_a_run_without_a_limit_admits_every_batch():
    limit = RunLimits(pipeline())
    assert ([limit.admit(DATA) for _ in range(5)], limit.reached) == ([True] * 5, "")


def test_the_batch_after_the_last_is_refused():
    limit = RunLimits(pipeline(max_batches=2))
    assert [limit.admit(batch) for batch in (DATA, *LATER)] == [True, True, False, False]
    assert limit.reached == "max_batches=2"


def test_a_batch_that_fails_and_runs_again_in_the_same_run_counts_once():
    limit = RunLimits(pipeline(max_batches=2))
    admitted = [limit.admit(batch) for batch in (DATA, DATA, DATA, LATER[0], LATER[0], LATER[1])]
    assert admitted == [True, True, True, True, True, False]


def test_batches_without_data_do_not_count_and_are_admitted():
    limit = RunLimits(pipeline(max_batches=1))
    assert [limit.admit(batch) for batch in (DATA, NO_DATA, NO_DATA)] == [True, True, True]
    assert limit.reached == ""
    assert not limit.admit(LATER[0])


def test_no_batch_begins_after_the_last_minute(monkeypatch):
    now: list[Any] = [100.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    limit = RunLimits(pipeline(max_minutes=1.5))
    now[0] += 89
    assert limit.admit(DATA)
    now[0] += 1
    assert not limit.admit(DATA)
    assert limit.reached == "max_minutes=1.5"


def test_a_run_that_is_asked_to_stop_refuses_the_next_batch_even_one_without_data():
    limit = RunLimits(pipeline(), wish := StopRequest())
    assert limit.admit(DATA)
    wish.stop("a signal")
    assert not limit.admit(NO_DATA)
    assert limit.reached == "a signal"
    assert isinstance(limit.stopped, Stopped)


def test_a_run_that_is_asked_when_nothing_is_left_was_not_stopped():
    limit = RunLimits(pipeline(max_batches=1), wish := StopRequest())
    assert [limit.admit(DATA), limit.admit(LATER[0])] == [True, False]
    wish.stop("a signal")
    assert (limit.reached, limit.stopped) == ("max_batches=1", None)


def test_of_what_goes_by_the_clock_one_batch_without_data_runs_and_the_next_is_refused():
    limit = RunLimits(pipeline(steps=(group_state(time_mode="processing"),)))
    later = NO_DATA._replace(clock_ms=2**62)
    assert [limit.admit(batch) for batch in (DATA, later, later)] == [True, True, False]
    assert limit.over
    assert limit.reached == "", "the run went to its end"


def test_a_batch_without_data_that_sluice_plans_may_run_after_the_one_that_spark_planned():
    limit = RunLimits(pipeline(steps=(group_state(time_mode="processing"),)))
    later = NO_DATA._replace(clock_ms=2**62)
    assert [limit.admit(batch) for batch in (DATA, later, later)] == [True, True, False]
    limit.allow_no_data_batch()
    assert not limit.over
    assert [limit.admit(batch) for batch in (later, later)] == [True, False]


def test_a_batch_that_an_earlier_run_had_planned_is_not_the_one_of_this_run():
    limit = RunLimits(pipeline(steps=(group_state(time_mode="processing"),)))
    later = NO_DATA._replace(clock_ms=2**62)
    assert [limit.admit(batch) for batch in (NO_DATA, DATA, later, later)] == [
        True, True, True, False,
    ]  # fmt: skip


def test_a_batch_that_is_planned_in_the_millisecond_in_which_the_run_began_is_the_one_of_this_run(
    monkeypatch,
):
    monkeypatch.setattr(limits.time, "time", lambda: 100.0007)
    limit = RunLimits(pipeline(steps=(group_state(time_mode="processing"),)))
    planned = NO_DATA._replace(
        clock_ms=100_000
    )  # milliseconds are whole: as the offset log has the clock
    assert [limit.admit(batch) for batch in (planned, planned)] == [True, False]
