"""Checks that know the time: how old the newest record is, and how many came beside the weeks
before. DuckDB counts minute by minute what the runs of ops.batches say.
"""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checks import check_metrics
from spark_jobs.errors import SpecInvalid
from spark_jobs.runs.timely import Accepted, Metric, by_run, compared, overdue, timely
from spark_jobs.spec import fresh, volume
from spark_jobs.spec.checks.check import AGES, TIMELY, VOLUMES, StateMetrics
from spark_jobs.storage.root.live_place import Place
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.harness.roots import NOON, Root
from tests.unit.specs import pipeline

SECOND, HOUR, WEEK = timedelta(seconds=1), timedelta(hours=1), timedelta(weeks=1)
MINUTE_BY_MINUTE = """
WITH runs AS (
    SELECT generation, run_id, min(batch_id) AS first, max(audited_at) AS until,
    sum(accepted) AS records FROM batches WHERE generation IN ('g1', 'g2') GROUP BY ALL
), minutes AS (
    SELECT unnest(generate_series(since, until - INTERVAL 1 MINUTE, INTERVAL 1 MINUTE)) AS m,
    records / (epoch(until - since) / 60) AS records FROM (
        SELECT *, (
            SELECT max(b.until) FROM runs b WHERE b.generation = r.generation AND b.first < r.first
        ) AS since FROM runs r
    ) WHERE since IS NOT NULL
), weeks AS (
    SELECT w, count(m) AS known, sum(records) AS records FROM range(5) t(w)
    LEFT JOIN minutes
    ON m >= $start - to_days(7 * w::INT) AND m < $now - to_days(7 * w::INT) GROUP BY w
)
SELECT max(records) FILTER (w = 0) / nullif(median(records) FILTER (w > 0), 0) FROM weeks
HAVING min(known) = epoch($now - $start) / 60
"""
"""NULL, or no row, where nothing is compared."""


def batch(number: int, at: datetime, accepted: int, run: str, generation: str = "g1") -> Any:
    return {
        "pipeline": "sales_hourly", "generation": generation, "batch_id": number, "run_id": run,
        "audited_at": at, "accepted": accepted,
    }  # fmt: skip


def spec_with(*checks: Any) -> Any:
    return pipeline(state_checks=checks)


@pytest.fixture
def root(tmp_path) -> Root:
    made = Root(tmp_path, pipeline())
    made.paths.ensure_writable()
    made.identified("g1")
    return made


def hourly(root: Root, weeks: int, accepted: int, until: datetime = NOON) -> None:
    """A run each hour, up to that time."""
    hours = range(weeks * 168 + 2, -1, -1)
    rows = [batch(n, until - at * HOUR, accepted, f"r{n}") for n, at in enumerate(hours)]
    root.put("batches", *rows)


def judged(root: Root, *checks: Any, at: datetime = NOON, **cursor: Any) -> Any:
    """The metrics of the checks, and how many checks they do not pass."""
    spec = spec_with(*checks)
    found = timely(spec, root.paths, root.identity, Cursor(**cursor), at)
    return {name: each.value for name, each in found.items()}, len([*overdue(spec, found)])


minutes = st.integers(1, 7 * 60)
spans = st.integers(1, 400)
runs = st.lists(
    st.tuples(
        minutes | st.just(60),
        st.lists(st.integers(0, 50), min_size=1, max_size=3),
        st.sampled_from([False] * 12 + [True]),
    ),
    min_size=4,
    max_size=40,
)


@settings(deadline=None, max_examples=examples(20))
@given(runs, st.lists(st.integers(1, 9), min_size=5, max_size=5), spans)
def test_what_came_in_an_hour_is_duckdbs_however_irregular_the_runs(
    tmp_path_factory, of, times, span
):
    at, number, rows, generation = NOON, 0, [], "g1"
    for week in range(5):
        at = NOON + week * WEEK
        for n, (after, batches, rewound) in enumerate(of):
            generation = "g2" if rewound and week == 2 else generation
            at += timedelta(minutes=after)
            for accepted in batches:
                rows.append(batch(number, at, accepted * times[week], f"{week}-{n}", generation))
                number += 1
    rows.append(batch(0, at, 10**6, "of another table", "g0"))
    made = Root(tmp_path_factory.mktemp("root"), pipeline())
    made.put("batches", *rows)
    batches = pa.Table.from_pylist(rows)
    now, length = at, timedelta(minutes=span)
    start = now - length
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    db.register("batches", batches)
    expected = db.execute(MINUTE_BY_MINUTE, {"now": now, "start": start}).fetchone()
    known = Identity(generation="g2", rewound=("g1",), topic_id="t", fingerprint={})
    found = compared(by_run(made.paths, known, now), length, now).share
    assert found == (pytest.approx(expected[0]) if expected and expected[0] is not None else None)


def test_nothing_for_longer_than_is_allowed_fails_by_the_runs_and_by_the_events_clock(root):
    root.put("batches", batch(0, NOON, 5, "a"), batch(1, NOON + 3 * HOUR, 0, "b"))
    checks = (fresh("2 hours"), fresh("1 day", by="event_time"))
    newest = {"last_event_time": NOON - 22 * HOUR}
    assert judged(root, *checks, at=NOON + 2 * HOUR, **newest)[1] == 0
    second = timedelta(hours=2, seconds=1)
    ages = {"accepted_age_seconds": 7201, "event_age_seconds": 24 * 3600 + 1}
    assert judged(root, *checks, at=NOON + second, **newest) == (ages, 2)


def test_what_was_never_accepted_has_no_age(root):
    root.put("batches", batch(0, NOON, 0, "a"))
    found, overdue_ = judged(root, fresh("1 hour"), fresh("1 hour", by="event_time"))
    assert ({*found.values()}, overdue_) == ({None}, 0)


def test_a_topic_that_gives_nothing_more_falls_below_without_a_run(root):
    hourly(root, 4, 100)
    for minutes_, share, fails_ in ((0, 1, 0), (59, 1, 0), (60, 0, 1), (90, 0, 1)):
        found, overdue_ = judged(root, volume(), at=NOON + timedelta(minutes=minutes_))
        assert (found["volume_of_hour"], overdue_) == (pytest.approx(share), fails_)


def in_the_mornings(root: Root, jitter: Any, dead_from: datetime | None = None) -> None:
    """100 records by each of the runs from 08:00 to 12:00. Idle plans leave no row."""
    at = NOON - 36 * timedelta(days=1) - 4 * HOUR
    rows = []
    while at <= NOON:
        if 8 <= at.hour <= 12 and not (dead_from and at >= dead_from):
            n = len(rows)
            rows.append(batch(n, at + timedelta(seconds=jitter(n)), 100, f"r{n}"))
        at += HOUR
    root.put("batches", *rows)


@pytest.mark.parametrize("jitter", [lambda _: 0, lambda n: n * 37 % 61, lambda n: -n * 37 % 61])
def test_a_topic_of_the_mornings_is_as_usual_in_the_evening_and_by_night(root, jitter):
    in_the_mornings(root, jitter)
    for hours in range(1, 20):
        found, overdue_ = judged(
            root, volume(), volume(0.9, 1.1, of="day"), at=NOON + hours * HOUR + 65 * SECOND
        )
        assert (overdue_, found["volume_of_day"]) == (0, pytest.approx(1, abs=0.02)), hours
        assert found["volume_of_hour"] == pytest.approx(1, abs=0.05), hours


@pytest.mark.parametrize("jitter", [lambda _: 0, lambda n: n * 37 % 61, lambda n: -n * 37 % 61])
def test_a_topic_of_the_mornings_that_is_dead_since_yesterday_fails_by_the_first_hours(
    root, jitter
):
    in_the_mornings(root, jitter, NOON - 12 * HOUR)
    fails_ = {
        hour: judged(root, volume(), at=NOON.replace(hour=hour, second=5))[1]
        for hour in (0, 3, 7, 9, 10, 11, 12)
    }
    assert fails_ == {0: 0, 3: 0, 7: 0, 9: 1, 10: 1, 11: 1, 12: 1}
    assert judged(root, volume(of="day"), at=NOON.replace(hour=11, second=5))[1] == 1


def test_a_dead_topic_is_old_also_behind_a_reset_and_a_clock_that_went_back(root):
    root.put("batches", batch(0, NOON, 5, "a"), batch(1, NOON + 720 * HOUR, 5, "ahead"))
    assert judged(root, fresh("1 hour"), at=NOON + 2 * HOUR) == ({"accepted_age_seconds": 7200}, 1)
    root.identified("g2")
    assert judged(root, fresh("1 hour"), at=NOON + 2 * HOUR) == ({"accepted_age_seconds": 7200}, 1)


def test_of_less_than_four_weeks_nothing_is_judged(root):
    hourly(root, 3, 100)
    found, overdue_ = judged(root, volume(), volume(of="day"), at=NOON)
    assert ({*found.values()}, overdue_) == ({None}, 0)


def test_what_has_not_passed_is_judged_with_what_is_new(root):
    hourly(root, 4, 100, NOON - 2 * HOUR)
    last = 4 * 168 + 2
    root.put("batches", batch(last + 1, NOON - HOUR, 10, "few"), batch(last + 2, NOON, 95, "usual"))
    for passed, share in ((last, 105 / 200), (last + 2, 0.95)):
        found, _ = judged(root, volume(), audited=last + 2, judged=passed)
        assert found["volume_of_hour"] == pytest.approx(share)


@pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
@pytest.mark.parametrize("value", [0.0, 0.49, 0.5, 2.0, 2.01, None])
def test_a_plan_bounds_as_great_expectations_does(value):
    spec = spec_with(volume(), fresh("1 second"))
    metrics = dict.fromkeys(StateMetrics.model_fields, 0)
    ages = {"volume_of_hour": value, "accepted_age_seconds": value}
    results = check_metrics(spec, StateMetrics(**metrics | ages))
    failed = [each for each in results if each.outcome != "passed" and each.column in ages]
    told = {name: Metric(each, "") for name, each in ages.items()}
    assert len(failed) == len([*overdue(spec, told)])


def test_a_run_that_a_limit_ended_and_a_place_of_a_rebuild_are_not_compared(root):
    hourly(root, 4, 100)
    spec = spec_with(volume(), fresh("1 hour"), fresh("1 hour", by="event_time"))
    given_ = (spec, root.paths, root.identity, Cursor(last_event_time=NOON), NOON)
    bounded = timely(*given_, "max_batches=3")
    assert bounded["volume_of_hour"].value is bounded["event_age_seconds"].value is None
    assert bounded["accepted_age_seconds"].value == 0
    beside = SimpleNamespace(place=Place("v2", "t.v2", beside=True))
    assert timely(spec, beside, *given_[2:]) == {}


def test_no_metric_is_asked_that_no_check_names(root):
    assert timely(pipeline(), root.paths, root.identity, Cursor(), NOON) == {}


def test_two_runs_of_one_name_are_compared_with_nothing():
    late = [Accepted(NOON, NOON - HOUR, 5), Accepted(NOON, NOON + HOUR, 5)]
    assert compared(late, HOUR, NOON + HOUR).share is None


@pytest.mark.parametrize(
    "declare",
    [
        lambda: fresh("0 hours"),
        lambda: fresh("soon"),
        lambda: fresh("1 hour", by="event"),
        lambda: volume(None, None),
        lambda: volume(2, 1),
        lambda: volume(0, None),
        lambda: volume(-1, None),
        lambda: volume(of="week"),
    ],
)
def test_what_bounds_nothing_is_refused(declare):
    with fails(SpecInvalid, "fields_refused"):
        declare()


def test_what_is_measured_by_the_clock_is_told_without_loading_its_checks():
    """One that is not among them would never be measured, and so pass."""
    assert {*AGES.values(), *VOLUMES.values()} == TIMELY
