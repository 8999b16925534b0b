"""Results of Great Expectations on pandas, each with the check that it belongs to."""

import pytest

from spark_jobs import checks as expectations
from spark_jobs.errors import CheckFailed
from spark_jobs.messages.change import Change, change_checks, metrics
from spark_jobs.messages.report import CheckResult
from spark_jobs.repair.staged_verdict import staged_verdict
from spark_jobs.spec import Check, within
from spark_jobs.spec.checks.check import StateMetrics
from tests.harness.refused import because, has
from tests.unit.specs import pipeline

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
METRICS = StateMetrics(**dict.fromkeys(StateMetrics.model_fields, 0))


def evaluated(*checks: Check) -> list[CheckResult]:
    spec = pipeline(state_checks=checks)
    own = {check.type for check in checks} | {"expect_column_values_to_be_between"}
    results = expectations.check_metrics(spec, METRICS)
    return [result for result in results if result.type in own and result.about.startswith("own")]


def test_a_check_that_cannot_be_evaluated_takes_no_other_checks_result():
    """GX lists it first, whatever its place in the suite."""
    misspelt = Check(
        type="expect_column_values_to_match_regex",
        kwargs={"column": "late_share", "regex": "("},
        severity="warning",
        about="own, misspelt",
    )
    failing = Check(
        type="expect_column_values_to_be_null",
        kwargs={"column": "late_share"},
        about="own, failing",
    )
    found = {result.about: result for result in evaluated(failing, misspelt)}
    assert (found["own, failing"].outcome, found["own, failing"].severity) == ("failed", "critical")
    assert (found["own, misspelt"].outcome, found["own, misspelt"].severity) == (
        "broken",
        "warning",
    )


def test_failing_values_are_shown_of_a_check_that_fails_and_of_one_that_lets_some_pass():
    """GX is asked for them behind the counts."""
    null = Check(type="expect_column_values_to_be_null", kwargs={"column": "late_share"})
    failing = null.model_copy(update={"about": "own, failing"})
    mostly = {"column": "late_share", "mostly": 0}
    some = null.model_copy(update={"kwargs": mostly, "about": "own, some"})
    good = within("late_share", 0, about="own, good")
    assert [
        (r.about, r.outcome, r.unexpected, r.sample) for r in evaluated(failing, some, good)
    ] == [
        ("own, failing", "failed", 1, "[0.0]"),
        ("own, some", "passed", 1, "[0.0]"),
        ("own, good", "passed", 0, ""),
    ]


def test_two_checks_with_the_same_arguments_have_a_result_each():
    """GX evaluates them once."""
    twice = within("late_share", -1, severity="critical", about="own, one")
    results = evaluated(twice, twice.model_copy(update={"about": "own, two"}))
    assert [(r.about, r.severity, r.outcome) for r in results] == [
        ("own, one", "critical", "failed"),
        ("own, two", "critical", "failed"),
    ]


def test_equal_checks_in_other_words_have_a_result_each():
    """5 and 5.0 are one bound for Great Expectations."""
    results = evaluated(*(within("late_share", each, about=f"own, {each}") for each in (5, 5.0)))
    assert [(r.about, r.outcome) for r in results] == [("own, 5", "passed"), ("own, 5.0", "passed")]


def test_values_that_are_asked_for_later_change_no_verdict(monkeypatch):
    """A check may ask for the time: by then nothing is from the future."""
    given = expectations._expectation  # noqa: SLF001 - as the checks ask GX
    bounds = iter([-1, 1])

    def later(check, number):
        if check.about == "own, moves":
            check = within("late_share", next(bounds), about=check.about)
        return given(check, number)

    monkeypatch.setattr(expectations, "_expectation", later)
    [found] = evaluated(within("late_share", 0, about="own, moves"))
    assert (found.outcome, found.unexpected, found.sample) == ("failed", 1, "")
    assert [*bounds] == []


def test_a_verify_fails_where_rows_are_parts_of_sessions_that_end_elsewhere():
    """They are not canonical, and the change has no pair of them."""
    found = Change(rows_before=4, rows_after=4, parts=2)
    assert str(found).endswith(
        "; 2 other rows are parts of sessions that end outside of the ranges"
    )
    results = expectations.check_change(change_checks("verify", "unexplained"), metrics(found))
    because(staged_verdict("sessions", results), CheckFailed, "change_failed", failed=has("parts"))
    backfill = expectations.check_change(change_checks("backfill", "unexplained"), metrics(found))
    assert staged_verdict("sessions", backfill) is None
