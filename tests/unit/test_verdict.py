"""The verdict on a run's rows, which runs, check tasks and the cursor share."""

from datetime import UTC, datetime

import pytest

from spark_jobs.errors import ChangeUnexplained, CheckBroken, CheckFailed, RangeThinned
from spark_jobs.messages.change import Change, change_checks, metrics
from spark_jobs.messages.report import CheckResult
from spark_jobs.messages.verdict import verdict
from spark_jobs.repair.compute.account import Source, thinned
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.staged_verdict import staged_verdict
from spark_jobs.spec.checks.check import STATE_METRICS
from spark_jobs.values.spans import Span
from tests.harness.refused import because, has


def check(
    outcome: str, severity: str = "critical", column: str | None = "n", **more: object
) -> CheckResult:
    known = {
        "suite": "output",
        "type": "expect_x",
        "column": column,
        "severity": severity,
        "outcome": outcome,
    }
    return CheckResult.model_validate(known | more)


def test_rows_pass_where_no_critical_check_failed_and_none_is_broken():
    assert verdict("p", 7, []) is None
    assert (
        verdict("p", 7, [check("passed"), check("failed", "warning"), check("failed", "info")])
        is None
    )


def test_each_critical_check_that_failed_is_named_with_its_rows_and_the_table_version():
    error = verdict(
        "p",
        7,
        [
            check("failed", unexpected=3),
            check("failed", column=None),
            check("failed", "warning", "w"),
        ],
    )
    failed = "expect_x(n) (3 rows), expect_x"
    because(error, CheckFailed, "rows_failed", count=2, failed=failed, table_version=7)


OF_METRICS = {
    **dict.fromkeys(("unaccounted", "groups_unaccounted"), "account_failed"),
    **dict.fromkeys(
        ("nothing_accepted", "malformed_share", "premature_share", "rejected_share", "late_share"),
        "records_rejected",
    ),
    **dict.fromkeys(
        ("rows_read", "state_rows", "state_bytes", "state_growth", "truncates", "duplicate_share",
         "watermark_lag_seconds", "behind_watermark_seconds", "still_batches", "archive_lag",
         "remembered_share", "accepted_age_seconds", "event_age_seconds", "volume_of_hour",
         "volume_of_day", "timers_per_row"),
        "state_failed",
    ),
}  # fmt: skip


def test_each_metric_has_the_reason_that_fits_it_and_no_remedy_corrects_rows_where_none_failed():
    assert set(OF_METRICS) == set(STATE_METRICS), "say here which remedy a new metric has"
    for metric, reason in OF_METRICS.items():
        error = verdict("p", 7, [check("failed", column=metric, suite="state", observed="0.9")])
        because(error, CheckFailed, reason, count=1, failed=f"expect_x({metric}) (0.9)")
        assert "table_version" not in error.parameters


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("unaccounted", "account_failed"),
        ("malformed_share", "rows_failed"),
        ("state_rows", "rows_failed"),
    ],
)
def test_a_column_named_as_a_metric_is_no_metric_and_the_worst_check_gives_the_reason(
    metric, reason
):
    rows = check("failed", column="unaccounted", unexpected=3)
    because(verdict("p", 7, [rows]), CheckFailed, "rows_failed")
    error = verdict("p", 7, [rows, check("failed", column=metric, suite="state")])
    because(error, CheckFailed, reason, count=2, failed=has("expect_x(unaccounted) (3 rows)"))


def test_a_check_that_only_warns_fails_no_run_where_it_cannot_be_evaluated():
    lesser = [check("broken", "warning"), check("broken", "info"), check("passed")]
    assert verdict("p", 7, lesser) is None
    assert staged_verdict("p", lesser) is None
    assert isinstance(verdict("p", 7, [*lesser, check("failed")]), CheckFailed)


def test_a_critical_check_that_could_not_be_evaluated_comes_first():
    error = verdict("p", 7, [check("failed"), check("broken", observed="no such column")])
    because(error, CheckBroken, "not_evaluated", name=has("expect_x(n)"))


def test_staged_rows_are_said_to_be_staged_and_to_have_changed_nothing():
    assert staged_verdict("p", [check("passed"), check("failed", "warning")]) is None
    error = staged_verdict("p", [check("failed", unexpected=3)])
    because(error, CheckFailed, "staged_failed", failed="expect_x(n) (3 rows)")
    assert isinstance(staged_verdict("p", [check("broken"), check("failed")]), CheckBroken)


def test_staged_rows_that_no_record_explains_have_an_error_of_their_own():
    unexplained = check("failed", column="unexplained", suite="change")
    assert isinstance(staged_verdict("p", [check("failed"), unexplained]), ChangeUnexplained)
    assert isinstance(staged_verdict("p", [check("failed", column="unexplained")]), CheckFailed), (
        "a column of the output may have that name"
    )


def test_a_verify_with_bad_records_that_nobody_has_quarantined_names_the_command():
    bad = check("failed", column="newly_bad", suite="change")
    unexplained = check("failed", column="unexplained", suite="change")
    span = Span(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    for failed, kind in (([bad], CheckFailed), ([bad, unexplained], ChangeUnexplained)):
        error = staged_verdict("p", failed, span)
        start, end = "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"
        because(error, kind, "newly_bad", start=start, end=end)
    # Without a span it is a backfill itself, of which nobody is asked.
    because(staged_verdict("p", [bad]), CheckFailed, "change_failed")


def test_a_range_that_compaction_has_thinned_cannot_be_proved_and_nothing_else_is_blamed():
    found = Change(rows_before=9, rows_after=4, removed=5, unexplained=5, thinned=7)
    for kind in ("verify", "backfill"):
        asked = change_checks(kind, "unexplained", thinned=True)
        failed = [
            check("failed", column=each.kwargs["column"], suite="change").model_copy(
                update={"observed": str(metrics(found)[each.kwargs["column"]])}
            )
            for each in asked
            if metrics(found)[each.kwargs["column"]]
        ]
        error = staged_verdict("p", failed)
        because(error, RangeThinned, "proof_compacted", gone=7)
    assert "compaction has removed 7" in str(found)
    off = check("failed", column="unaccounted", suite="change")
    assert isinstance(staged_verdict("p", [*failed, off]), CheckFailed), "that is no compaction"


@pytest.mark.parametrize(
    ("compacted", "records", "read", "gone"),
    [(True, 10, 7, 3), (True, 10, 10, 0), (True, 10, 12, 0), (False, 10, 7, 0)],
)
def test_thinned_is_what_the_index_has_and_a_topic_no_longer_gives(compacted, records, read, gone):
    plan = RepairPlan.model_construct(compacted=compacted)
    assert thinned(plan, Source(records, read)) == gone
