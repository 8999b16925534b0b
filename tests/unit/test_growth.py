"""The growth of a state, of real ops tables: what is read, and what is said of it."""

from datetime import UTC, datetime, timedelta

import pytest
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.ops.growth.after_runs import after_runs, points
from spark_jobs.ops.growth.forecast import Forecast
from spark_jobs.pages import growth_words
from spark_jobs.pages.growth import Measured, growth
from spark_jobs.spec import State

NAME = "departure_delays"
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
MEBI = 2**20


def batch(run: int, number: int, rows: int, **more) -> dict:
    steps = [
        {"step": 1, "kind": "deduplicate", "numRowsTotal": rows - 100}
        | {"memoryUsedBytes": MEBI, "rocksdbSstFileSize": rows},
        {"step": 2, "kind": "aggregate", "numRowsTotal": 100, "memoryUsedBytes": MEBI},
    ]
    return {
        "pipeline": NAME,
        "generation": "g1",
        "run_id": f"run-{run}",
        "batch_id": number,
        "audited_at": BEGAN + timedelta(hours=6 * run, minutes=number % 2),
        "state_rows": rows,
        "state_bytes": 2 * MEBI + rows,
        "operators": steps,
    } | more


@pytest.fixture
def drained(tmp_path):
    """Forty runs of two batches, 300 rows more each: 1,200 a day."""
    rows = [
        batch(run, 2 * run + part, 1000 + 300 * run + part) for run in range(40) for part in (0, 1)
    ]
    ops_tables.append(UPath(tmp_path), "batches", rows)
    return UPath(tmp_path)


def test_the_last_batch_of_each_run_counts_oldest_first(drained):
    after = after_runs(drained, NAME)
    assert [each.batch for each in after] == [*range(1, 80, 2)]


def test_each_step_is_told_by_itself_with_its_bytes(drained):
    found = growth(drained, NAME)
    dedup, groups = found.steps
    assert (dedup.step, dedup.kind, dedup.rows) == (2, "deduplicate", 12_601)
    assert dedup.bytes == MEBI + 12_701
    assert (groups.step, groups.rows, groups.bytes) == (3, 100, MEBI)
    assert dedup.growth.slope * 86_400 == pytest.approx(1200)
    assert (dedup.growth.verdict, groups.growth.verdict) == ("grows", "flat")


def test_rows_have_no_day_without_a_budget_and_bytes_have_the_default_one(drained):
    rows, size = growth(drained, NAME).measured
    assert (rows.now, rows.budget, rows.forecast.verdict) == (12_701, None, "grows")
    assert (size.now, size.budget) == (2 * MEBI + 12_701, State().budget_bytes)
    assert size.forecast.soonest is None  # at 1,200 bytes a day


def test_a_new_generation_begins_anew(drained):
    reset = [
        batch(41 + run, run, 50 + run, generation="g2", run_id=f"run-0{run}") for run in range(3)
    ]
    ops_tables.append(drained, "batches", reset)
    found = growth(drained, NAME)
    assert len(found.after) == 43
    assert [each.forecast.verdict for each in found.measured] == ["few", "few"]
    assert [each.value for each in points(found.after, lambda each: each.state_rows)] == [
        50,
        51,
        52,
    ]


def test_a_batch_whose_progress_was_lost_is_no_zero(drained):
    lost = batch(41, 80, 0, state_rows=None, state_bytes=None, operators=None)
    ops_tables.append(drained, "batches", [lost])
    found = growth(drained, NAME)
    assert [each.now for each in found.measured] == [None, None]
    assert len(points(found.after, lambda each: each.state_rows)) == 40
    assert "not known" in "\n".join(growth_words.lines(found, BEGAN))


def test_nothing_is_said_of_nothing(tmp_path):
    found = growth(UPath(tmp_path), NAME)
    assert (found.after, found.steps) == ([], ())
    assert len([*growth_words.lines(found, BEGAN)]) == 1


def told(forecast: Forecast, budget: int | None = 10_000) -> str:
    return growth_words.verdict(Measured("rows", 5, budget, forecast), BEGAN)


AT = BEGAN.timestamp()
DAY = 86_400.0


@pytest.mark.parametrize(
    ("forecast", "says"),
    [
        (Forecast("grows", soonest=AT + 5 * DAY, latest=AT + 9 * DAY), "between 2026-03-06 and 2026-03-10"),
        (Forecast("grows", soonest=AT + 5 * DAY, latest=AT + 5.2 * DAY), "on 2026-03-06"),
        (Forecast("grows", soonest=AT + DAY / 2, latest=AT + DAY), "between 2026-03-01 12:00 UTC and 2026-03-02 00:00 UTC"),
        (Forecast("grows", soonest=AT - DAY, latest=AT + 9 * DAY), "between now and 2026-03-10"),
        (Forecast("grows", soonest=AT + 5 * DAY), "not before 2026-03-06."),
        (Forecast("unclear", soonest=AT + 5 * DAY), "not before 2026-03-06, if at all"),
        (Forecast("grows"), "not reached within ten years"),
        (Forecast("reached"), "is reached"),
        (Forecast("flat"), "no forecast"),
        (Forecast("falls"), "falls"),
        (Forecast("few", points=3), "3 runs so far; 5"),
        (Forecast("few", "tops", 2), "2 times so far; 5"),
    ],
    ids=str,
)  # fmt: skip
def test_a_range_is_told_and_why_there_is_none(forecast, says):
    assert says in told(forecast)


def test_the_basis_is_told_with_its_runs_its_days_and_its_rate(drained):
    [rows, _, dedup, _] = growth_words.lines(growth(drained, NAME), BEGAN + 11 * timedelta(days=1))
    assert "From 40 runs over 10 days: +1,200 rows a day." in rows
    assert "state.budget_rows" in rows
    assert dedup.startswith("step 2 deduplicate: 12,601 rows. From 40 runs")
