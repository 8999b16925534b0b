"""The bound of a run: which batch is held."""

from typing import Any

import pytest

from spark_jobs.checkpoint import Batch
from spark_jobs.contract.errors import Stopped
from spark_jobs.stages import bound
from spark_jobs.stages.bound import Bound
from spark_jobs.stopping import Wish
from tests.unit.specs import group_state, pipeline

DATA, NO_DATA = Batch(0, {0: 0}, {0: 10}, 0, 0), Batch(1, {0: 10}, {0: 10}, 0, 0)


def test_a_run_without_a_bound_holds_nothing() -> None:
    limit = Bound(pipeline())
    assert [limit.holds(DATA) for _ in range(5)] == [False] * 5
    assert limit.reached == ""


def test_the_batch_after_the_last_is_held() -> None:
    limit = Bound(pipeline(max_batches=2))
    assert [limit.holds(DATA) for _ in range(4)] == [False, False, True, True]
    assert limit.reached == "max_batches=2"


def test_batches_without_data_do_not_count_and_are_not_held() -> None:
    limit = Bound(pipeline(max_batches=1))
    assert [limit.holds(batch) for batch in (DATA, NO_DATA, NO_DATA)] == [False, False, False]
    assert limit.reached == ""
    assert limit.holds(DATA)


def test_no_batch_begins_after_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[Any] = [100.0]
    monkeypatch.setattr(bound.time, "monotonic", lambda: now[0])
    limit = Bound(pipeline(max_minutes=1.5))
    now[0] += 89
    assert not limit.holds(DATA)
    now[0] += 1
    assert limit.holds(DATA)
    assert limit.reached == "max_minutes=1.5"


def test_a_run_that_is_asked_to_stop_holds_the_next_batch_even_one_without_data() -> None:
    limit = Bound(pipeline(), wish := Wish())
    assert not limit.holds(DATA)
    wish.stop("a signal")
    assert limit.holds(NO_DATA)
    assert limit.reached == "a signal"
    assert isinstance(limit.stopped, Stopped)


def test_a_run_that_is_asked_when_nothing_is_left_was_not_stopped() -> None:
    limit = Bound(pipeline(max_batches=1), wish := Wish())
    assert [limit.holds(DATA), limit.holds(DATA)] == [False, True]
    wish.stop("a signal")
    assert (limit.reached, limit.stopped) == ("max_batches=1", None)


def test_of_what_goes_by_the_clock_one_batch_without_data_runs_and_the_next_is_held() -> None:
    limit = Bound(pipeline(steps=(group_state(time_mode="processing"),)))
    later = NO_DATA._replace(clock_ms=2**62)
    assert [limit.holds(batch) for batch in (DATA, later, later)] == [False, False, True]
    assert limit.over
    assert limit.reached == "", "the run went to its end"


def test_a_batch_without_data_that_sluice_plans_may_run_after_the_one_that_spark_planned() -> None:
    limit = Bound(pipeline(steps=(group_state(time_mode="processing"),)))
    later = NO_DATA._replace(clock_ms=2**62)
    assert [limit.holds(batch) for batch in (DATA, later, later)] == [False, False, True]
    limit.grant()
    assert not limit.over
    assert [limit.holds(batch) for batch in (later, later)] == [False, True]


def test_a_batch_that_an_earlier_run_had_planned_is_not_the_one_of_this_run() -> None:
    limit = Bound(pipeline(steps=(group_state(time_mode="processing"),)))
    later = NO_DATA._replace(clock_ms=2**62)
    assert [limit.holds(batch) for batch in (NO_DATA, DATA, later, later)] == [False, False, False, True]


def test_a_batch_that_is_planned_in_the_millisecond_in_which_the_run_began_is_the_one_of_this_run(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound.time, "time", lambda: 100.0007)
    limit = Bound(pipeline(steps=(group_state(time_mode="processing"),)))
    planned = NO_DATA._replace(clock_ms=100_000)  # milliseconds are whole: as the offset log has the clock
    assert [limit.holds(batch) for batch in (planned, planned)] == [False, True]
