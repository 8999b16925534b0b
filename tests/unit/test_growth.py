"""The growth of a state, of real ops tables: what is read, and what is said of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from upath import UPath

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.ops import ops_tables
from spark_jobs.ops.forecast import Forecast, after_runs, points
from spark_jobs.pages.growth import Measured, growth, lines, verdict
from spark_jobs.registry import find as registry
from spark_jobs.spec import State
from spark_jobs.storage.root.paths import Paths
from tests.unit.checkpoints import begin, commit_batch, plan_batch

NAME = "departure_delays"
SPEC = registry.load(NAME)
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
    found = growth(drained, SPEC)
    dedup, groups = found.steps
    assert (dedup.step, dedup.kind, dedup.rows) == (2, "deduplicate", 12_601)
    assert dedup.bytes == MEBI + 12_701
    assert (groups.step, groups.rows, groups.bytes) == (3, 100, MEBI)
    assert dedup.growth.slope * 86_400 == pytest.approx(1200)
    assert (dedup.growth.verdict, groups.growth.verdict) == ("grows", "flat")


def test_rows_have_no_day_without_a_budget_and_bytes_have_the_default_one(drained):
    rows, size = growth(drained, SPEC).measured
    assert (rows.now, rows.budget, rows.forecast.verdict) == (12_701, None, "grows")
    assert (size.now, size.budget) == (2 * MEBI + 12_701, State().budget_bytes)
    assert size.forecast.soonest is None  # at 1,200 bytes a day


def of_generation(root: UPath, name: str, *rewound: str):
    """A checkpoint of this generation."""
    paths = Paths(str(root), SPEC)
    paths.ensure_writable()
    spark = begin(Path(str(paths.checkpoint)), {0: 0}, SPEC.topic.name)
    plan_batch(spark, 0, {0: 10}, 0, SPEC.topic.name)
    commit_batch(spark, 0)
    Identity(generation=name, rewound=rewound, topic_id="t", fingerprint={}).write(paths.identity)


def others(name: str, *runs: int) -> list[dict]:
    """Runs behind the forty, of another generation."""
    return [batch(41 + run, run, 50 + run, generation=name, run_id=f"{name}-{run}") for run in runs]


def test_behind_a_reset_it_begins_anew(drained):
    of_generation(drained, "g2")
    ops_tables.append(drained, "batches", others("g2", 0, 1, 2))
    found = growth(drained, SPEC)
    assert [each.state_rows for each in found.live] == [50, 51, 52]
    assert [each.forecast.verdict for each in found.measured] == ["few", "few"]
    assert [len(each.x) for each in found.charts] == [3, 3]


def test_behind_a_rewind_the_charts_show_what_was_before_and_the_forecast_counts_what_came_since(
    drained,
):
    of_generation(drained, "g2", "g1")
    assert [each.now for each in growth(drained, SPEC).measured] == [None, None], "nobody ran yet"
    ops_tables.append(drained, "batches", others("g2", 0, 1))
    found = growth(drained, SPEC)
    assert [each.state_rows for each in found.live] == [50, 51]
    assert [each.forecast.verdict for each in found.measured] == ["few", "few"]
    assert [len(each.x) for each in found.charts] == [42, 42]


def test_a_rebuild_beside_it_is_none_of_its_growth(drained):
    of_generation(drained, "g1")
    before = growth(drained, SPEC)
    ops_tables.append(drained, "batches", others("next", 0, 1, 2))
    assert growth(drained, SPEC) == before


def test_a_batch_whose_progress_was_lost_is_no_zero(drained):
    lost = batch(41, 80, 0, state_rows=None, state_bytes=None, operators=None)
    ops_tables.append(drained, "batches", [lost])
    found = growth(drained, SPEC)
    assert [each.now for each in found.measured] == [None, None]
    assert len(points(found.live, lambda each: each.state_rows)) == 40
    assert "not known" in "\n".join(lines(found, BEGAN))


def test_nothing_is_said_of_nothing(tmp_path):
    found = growth(UPath(tmp_path), SPEC)
    assert (found.live, found.steps) == ([], ())
    assert len([*lines(found, BEGAN)]) == 1


def told(forecast: Forecast, budget: int | None = 10_000) -> str:
    return verdict(Measured("rows", 5, budget, forecast), BEGAN)


AT = BEGAN.timestamp()
DAY = 86_400.0


@pytest.mark.parametrize(
    ("forecast", "says"),
    [
        (Forecast("grows", soonest=AT + 5 * DAY, latest=AT + 9 * DAY), "between 2026-03-06 and 2026-03-10"),
        (Forecast("grows", soonest=AT + 5 * DAY, latest=AT + 5.2 * DAY), "on 2026-03-06"),
        (Forecast("grows", soonest=AT + DAY / 2, latest=AT + DAY), "between 2026-03-01 12:00 UTC and 2026-03-02 00:00 UTC"),
        (Forecast("grows", soonest=AT - DAY, latest=AT + 9 * DAY), "between now and 2026-03-10"),
        (Forecast("grows", soonest=AT - 2 * DAY, latest=AT - DAY), "no run has told since"),
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
    told = [*lines(growth(drained, SPEC), BEGAN + timedelta(days=11))]
    rows, _, title, *charted, dedup, _ = told
    assert rows.startswith("state: 12,701 rows. From 40 runs over 10 days: +1,200 rows a day.")
    assert "state.budget_rows" in rows
    assert "40 points" in title
    assert len(charted) == 2
    assert dedup.startswith("step 2 deduplicate: 12,601 rows. From 40 runs")
