"""The report: what goes from a run to Airflow arrives whole, or is no report."""

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spark_jobs.errors import CheckFailed, FormatNewer, ReportMissing, SluiceError, catalogue
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Problem, Report, StateUse, read_report
from tests.harness.refused import fails, has

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def report(**changes: Any) -> Report:
    usual: dict[str, Any] = {
        "pipeline": "flight_events",
        "run_id": "scheduled__2026-03-01",
        "status": "succeeded",
        "started_at": NOON,
        "ended_at": NOON + timedelta(seconds=12.5),
        "batches": (3, 4),
        "recovered": (3,),
        "offsets_end": {"0": 12},
        "watermark": NOON - timedelta(hours=2),
        "account": Account(covered=12, read=12, accepted=12, rows_out=12),
        "state": StateUse(rows=5, bytes=900, rows_before=2),
        "table_version": 7,
        "checks": (check(), check("failed", "warning")),
        "seconds": {"start": 1.25},
    }
    return Report(**usual | changes)


def check(outcome: str = "passed", severity: str = "critical") -> CheckResult:
    return CheckResult.model_validate(
        {"suite": "output", "type": "expect_x", "severity": severity, "outcome": outcome}
    )


def test_a_report_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "reports" / "flight_events" / "1.json"
    report().write(path)
    assert read_report(path) == report()


def test_a_report_is_written_over_an_older_one(tmp_path):
    path = tmp_path / "1.json"
    report(run_id="older").write(path)
    report(run_id="newer").write(path)
    assert read_report(path).run_id == "newer"
    assert [found.name for found in tmp_path.iterdir()] == ["1.json"]


def test_a_report_that_could_not_be_written_whole_leaves_the_older_one(tmp_path, monkeypatch):
    path = tmp_path / "1.json"
    report(run_id="older").write(path)
    write_text = Path.write_text

    def disk_full(self: Path, text: str) -> int:
        write_text(self, text[: len(text) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", disk_full)
    with pytest.raises(OSError, match="No space left"):
        report(run_id="newer").write(path)
    assert read_report(path).run_id == "older"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        report().model_dump_json().replace('"status":"succeeded"', '"status":"probably"'),
        report().model_dump_json().replace('"status":"succeeded",', ""),
        report().model_dump_json()[:-2],
    ],
    ids=["empty", "torn", "null", "list", "nothing", "status", "missing", "cut"],
)
def test_what_is_not_a_report_of_this_version_is_none(tmp_path, text):
    path = tmp_path / "1.json"
    path.write_text(text)
    with fails(ReportMissing, "not_a_report", version=1):
        read_report(path)


@pytest.mark.parametrize(
    ("known", "newer"),
    [
        ('"read":12', '"read":12,"from_tomorrow":1'),
        ('"pipeline"', '"from_tomorrow":1,"pipeline"'),
        ('"severity"', '"from_tomorrow":1,"severity"'),
    ],
    ids=["of a part", "of the report", "of a check"],
)
def test_a_field_that_a_newer_release_has_added_is_ignored(tmp_path, known, newer):
    path = tmp_path / "1.json"
    text = report().model_dump_json()
    path.write_text(text.replace(known, newer))
    assert read_report(path) == report()


def test_a_report_of_a_newer_version_says_so(tmp_path):
    path = tmp_path / "1.json"
    text = report().model_dump_json()
    path.write_text(text.replace('"report_version":1', '"report_version":2,"from_tomorrow":1'))
    with fails(FormatNewer, "form_unknown", found=2, known=1):
        read_report(path)


def test_bytes_that_are_no_text_are_no_report(tmp_path):
    (tmp_path / "1.json").write_bytes(b"\xff\xfe\x00")
    with fails(ReportMissing, "not_a_report", version=1):
        read_report(tmp_path / "1.json")


def test_a_run_that_left_no_report_says_so(tmp_path):
    with fails(ReportMissing, "no_report", path=has("1.json")):
        read_report(tmp_path / "1.json")


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: str(error.code))
def test_a_problem_becomes_its_error_again_on_the_other_side(tmp_path, error):
    report(status="failed", problem=Problem.of(error("it went wrong.", "Mend it."))).write(
        tmp_path / "1.json"
    )
    problem = read_report(tmp_path / "1.json").problem
    again = problem.error()
    assert (type(again), Problem.of(again)) == (error, problem)
    assert str(again) == f"{error.code}: it went wrong. Mend it."


def test_a_problem_that_this_sluice_does_not_know_is_not_tried_again():
    error = Problem(code="FROM_TOMORROW", what="it went wrong.").error()
    assert (type(error), error.retry) == (SluiceError, False)


accounts = st.builds(Account, **{name: st.integers(0, 10**12) for name in Account.model_fields})


@given(st.lists(accounts))
def test_the_account_of_a_run_is_the_sum_of_its_batches_field_by_field(batches):
    total = sum(batches, Account())
    for name in Account.model_fields:
        assert getattr(total, name) == sum(getattr(batch, name) for batch in batches)


def test_a_count_that_a_batch_does_not_know_is_no_0_in_a_sum_and_hides_no_mismatch():
    lost = Account.of_row(Account(read=5).row() | {"duplicates": None, "unaccounted": None})
    whole, wrong = Account(read=5, duplicates=2), Account(read=5, unaccounted=3)
    for batches in ([lost, whole], [whole, lost]):
        total = sum(batches, Account())
        assert (total.read, total.duplicates, total.unaccounted) == (10, None, None)
    for batches in itertools.permutations([lost, whole, wrong]):
        assert sum(batches, Account()).unaccounted == 3


def test_a_report_with_a_count_that_is_not_known_is_read_as_it_was_written(tmp_path):
    report(account=Account(unaccounted=None)).write(tmp_path / "1.json")
    assert read_report(tmp_path / "1.json").account.unaccounted is None


def test_only_checks_that_failed_are_failing():
    checks = (check(), check("broken"), check("failed"), check("failed", "warning"))
    assert report(checks=checks).failing("critical") == (checks[2],)
    assert report(checks=checks).failing("warning") == (checks[3],)
    assert CheckFailed.retry is False
