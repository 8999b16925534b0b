"""The outcome of a run: what it reports, however far it came, and that nothing hides what went
wrong first.
"""

from datetime import UTC, datetime

import pytest

from spark_jobs.errors import CheckFailed, RecordsGone, SparkFailed
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Problem, StateUse
from spark_jobs.runs.run_outcome import Drained, RunOutcome
from spark_jobs.source.positions import Positions
from tests.harness.refused import because
from tests.unit.test_report import check

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DRAINED = Drained(
    generation="g1",
    batches=(3, 4),
    recovered=(3,),
    account=Account(covered=12, read=12),
    state=StateUse(rows=5, rows_before=2),
    start=Positions({0: 10, 1: 0}),
    end=Positions({0: 20, 1: 2}),
    watermark=NOON,
    bounded_by="max_batches=2",
    waiting=7,
    table_version_before=4,
    table_version=6,
)


def test_a_run_that_came_to_its_end_reports_all_of_it():
    outcome = RunOutcome(
        "drain", "p", "run-1", lost={1: (5, 9)}, drained=DRAINED, checks=(check(),)
    )
    for phase in ("settle", "start", "recover", "query"):
        outcome.lap(phase)  # type: ignore[arg-type]  # a loop's variable is any text
    outcome.took("audit", 1.23456)
    outcome.lap("checks")
    report = outcome.report(None)
    assert (report.kind, report.pipeline, report.run_id) == ("drain", "p", "run-1")
    assert (report.status, report.problem) == ("succeeded", None)
    assert (report.generation, report.batches, report.recovered) == ("g1", (3, 4), (3,))
    assert (report.offsets_start, report.offsets_end, report.lost) == (
        {"0": 10, "1": 0},
        {"0": 20, "1": 2},
        {"1": (5, 9)},
    )
    assert (report.account, report.state, report.watermark) == (
        DRAINED.account,
        DRAINED.state,
        NOON,
    )
    assert (report.bounded_by, report.waiting) == ("max_batches=2", 7)
    assert (report.table_version_before, report.table_version, report.checks) == (4, 6, (check(),))
    assert [*report.seconds] == ["settle", "start", "recover", "query", "audit", "checks"]
    assert (report.seconds["audit"], report.query_seconds) == (1.235, report.seconds["query"])
    assert report.started_at <= report.ended_at


def test_a_run_that_failed_reports_as_far_as_it_came():
    outcome = RunOutcome("drain", "p", "run-1")
    outcome.lap("settle")
    gone = RecordsGone("40 records are gone.", "Go on without them.")
    report = outcome.report(gone)
    assert (report.status, report.generation, report.batches) == ("failed", "", ())
    assert [*report.seconds] == ["settle"]
    assert report.problem == Problem.of(gone)


@pytest.mark.parametrize(
    "wrong",
    [
        {"drained": Drained(batches="three")},
        {"drained": Drained(watermark="noon")},
        {"checks": ("passed",)},  # type: ignore[arg-type]
        {"lost": None},
        {"drained": None},
        {"seconds": {"settle": "long"}},
    ],
    ids=lambda wrong: str(*wrong),
)
def test_an_outcome_that_makes_no_valid_report_does_not_hide_the_problem_of_the_run(wrong):
    outcome = RunOutcome("drain", "p", "run-1", **wrong)
    failed = CheckFailed("3 rows.", "Look at them.")
    report = outcome.report(failed)
    assert (report.status, report.pipeline, report.run_id) == ("failed", "p", "run-1")
    assert report.problem == Problem.of(failed)


def test_an_outcome_that_makes_no_valid_report_is_a_failure_of_a_run_that_had_none():
    report = RunOutcome("drain", "p", "run-1", drained=Drained(waiting="many")).report(None)  # type: ignore[arg-type]
    assert report.status == "failed"
    because(report.problem, SparkFailed, "unexpected", kind="ValidationError")
