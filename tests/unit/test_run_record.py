"""A run's row in ops.runs: a run whose row cannot be written fails, and a problem that the run had before stays."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.errors import CheckFailed
from spark_jobs.contract.report import Problem, Report
from spark_jobs.ops import ops_tables
from spark_jobs.runs.run_record import append_row
from tests.unit.specs import pipeline
from tests.unit.test_report import report

SPEC = pipeline()
PROBLEM = Problem.of(CheckFailed("3 rows.", "Look at them."))


def ended(**changes: Any) -> Report:
    usual = {"pipeline": SPEC.name, "generation": "g1", "status": "succeeded", "problem": None}
    return report().model_copy(update=usual | changes)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(ops_tables, "append", append)


@pytest.mark.usefixtures("full_disk")
def test_a_run_without_a_problem_fails_with_the_error_of_the_append(tmp_path: Path) -> None:
    failed = append_row(ended(), SPEC, str(tmp_path))
    assert failed.status == "failed"
    assert failed.problem is not None
    assert "no space left" in failed.problem.what


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("root", ["a disk", "s3://bucket/root"])
def test_the_problem_of_the_run_is_not_hidden_by_the_error_of_the_append(
    tmp_path: Path, root: str
) -> None:
    before = ended(status="failed", problem=PROBLEM)
    assert append_row(before, SPEC, root if "://" in root else str(tmp_path)) == before


@pytest.mark.usefixtures("full_disk")
def test_a_run_that_accounted_for_nothing_has_no_row(tmp_path: Path) -> None:
    before = ended(generation="")
    assert append_row(before, SPEC, str(tmp_path)) == before


def test_a_row_has_the_report_and_its_problem(tmp_path: Path) -> None:
    before = ended(status="failed", problem=PROBLEM)
    assert append_row(before, SPEC, str(tmp_path)) == before
    (row,) = ops_tables.query(tmp_path, "runs", "SELECT * FROM runs").to_pylist()  # type: ignore[arg-type]  # any path will do
    assert (row["pipeline"], row["status"], row["problem"]) == (SPEC.name, "failed", "CHECK_FAILED")
    assert Report.model_validate_json(row["report"]) == before
