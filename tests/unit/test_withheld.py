"""With values of records hidden, none of them is in what a task of Airflow logs, passes on or fails by."""

from datetime import UTC, datetime

import pytest

from spark_jobs.errors import by_code, catalogue
from spark_jobs.messages.report import CheckResult, Problem, Report
from spark_jobs.messages.stages import check_line, summary
from spark_jobs.messages.verdict import verdict
from spark_jobs.messages.withheld import SETTING, WITHHELD, for_tasks, of_problem, of_reason
from spark_jobs.repair.staged_verdict import staged_verdict

VALUE = "Ann from Accounts"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUOTING = [(kind, each) for kind in catalogue() for each in kind.reasons().values() if each.quoted]


def checks() -> tuple[CheckResult, ...]:
    """Failed and broken ones, with the value wherever Great Expectations puts one."""
    failed = CheckResult(
        suite="output",
        type="expect_column_distinct_values_to_be_in_set",
        column="name",
        severity="critical",
        outcome="failed",
        observed=f'["{VALUE}"]',
        unexpected=3,
        sample=f'["{VALUE}", "{VALUE}"]',
    )
    broken = failed.model_copy(
        update={"outcome": "broken", "observed": f"could not convert string to float: {VALUE}"}
    )
    counted = failed.model_copy(update={"column": "n", "observed": '{"rows": 7}'})
    state = failed.model_copy(update={"suite": "state", "observed": "0.25", "sample": ""})
    return failed, broken, counted, state


def report(code: str) -> Report:
    return Report(
        pipeline="sales",
        run_id="r",
        status="failed",
        problem=Problem(code=code, what=f"it fails for {VALUE}", remedy=f"Look at {VALUE}."),
        started_at=NOW,
        ended_at=NOW,
        checks=checks(),
    )


def told(of: Report) -> str:
    """All that tasks tell of a report: in XCom, in their logs, by their errors."""
    errors = [
        of.problem.error(),
        verdict("sales", 1, of.checks),
        staged_verdict("sales", of.checks),
    ]
    lines = [*summary(of), *map(check_line, of.checks), *map(str, errors)]
    return "\n".join((of.model_dump_json(), *lines))


@pytest.mark.parametrize("code", [*sorted({kind.code for kind, _ in QUOTING}), "OF_A_NEWER_SLUICE"])
def test_a_task_tells_no_value_unless_values_are_shown(code, monkeypatch):
    monkeypatch.delenv("SLUICE_RECORD_BYTES", raising=False)
    hidden = for_tasks(report(code))
    assert VALUE not in told(hidden)
    assert type(hidden.problem.error()) is by_code(code), "a retry is decided by its class"
    assert [each.observed for each in hidden.checks[2:]] == ['{"rows": 7}', "0.25"]
    assert [each.unexpected for each in hidden.checks] == [3] * 4
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    assert told(for_tasks(report(code))).count(VALUE) > 9


@pytest.mark.parametrize(("kind", "why"), QUOTING, ids=lambda each: getattr(each, "name", ""))
def test_of_a_known_reason_only_what_quotes_is_withheld(kind, why):
    given = {
        name: f"{VALUE} {name}" if name in why.quoted else f"<{name}>" for name in why.parameters
    }
    told_ = Problem.of(getattr(kind, why.name)(**given))
    hidden = of_problem(told_)
    assert VALUE in told_.what
    assert VALUE not in hidden.model_dump_json()
    assert WITHHELD in hidden.what
    assert hidden.remedy == f"{told_.remedy} {SETTING}"
    for name in {*why.parameters} - why.quoted:
        assert (f"<{name}>" in hidden.what) == (f"<{name}>" in told_.what)


def test_a_reason_with_other_parameters_is_not_known():
    newer = Problem(
        code="SPARK_FAILED",
        reason="no_spark_submit",
        parameters={"row": VALUE},
        what=f"it fails for {VALUE}",
    )
    assert VALUE not in of_problem(newer).model_dump_json()


def test_an_error_that_quotes_nobody_keeps_its_words(monkeypatch):
    monkeypatch.delenv("SLUICE_RECORD_BYTES", raising=False)
    given = report("LEASE_HELD").model_copy(update={"checks": ()})
    assert for_tasks(given) == given


@pytest.mark.parametrize(
    "reason",
    [
        "malformed: key 'Flight' is in the wrong case: the field is 'flight'",
        "malformed: Object missing required field `flight`",
        "malformed: not JSON: JSON is malformed: invalid character (byte 5)",
        "premature: event time is 3 days, 0:00:00 past the Kafka timestamp; at most 1:00:00 is allowed",
    ],
)
def test_a_reason_without_a_value_is_told_whole(reason):
    assert of_reason(reason) == reason


@pytest.mark.parametrize(
    "reason",
    [
        f"malformed: Invalid enum value '{VALUE}'",
        f'malformed: For input string: "{VALUE}',
        f"malformed: step 2 (aggregate), measures['x']: sum(a): USER_RAISED_EXCEPTION: {VALUE}",
        f"malformed: key '{VALUE}' is in the wrong case: the field is 'x'; '{VALUE}'",
    ],
)
def test_a_reason_with_one_is_told_without_it(reason):
    assert VALUE not in of_reason(reason)
    assert of_reason(reason)
