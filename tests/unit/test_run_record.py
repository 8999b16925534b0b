"""A run's row in ops.runs: a run whose row cannot be written fails, and a problem that the run had
before stays.
"""

from typing import Any

import pytest
from upath import UPath

from spark_jobs.errors import CheckFailed, LeaseHeld, RootUnreachable, SparkFailed
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Problem, Report
from spark_jobs.ops import history, ops_tables
from spark_jobs.pages.run_page import run_page
from spark_jobs.runs.run_record import append_row
from tests.harness.refused import because, has
from tests.unit.specs import pipeline
from tests.unit.test_report import report

SPEC = pipeline()
PROBLEM = Problem.of(CheckFailed("3 rows.", "Look at them."))


def ended(**changes: Any) -> Report:
    usual = {"pipeline": SPEC.name, "generation": "g1", "status": "succeeded", "problem": None}
    return report().model_copy(update=usual | changes)


@pytest.fixture
def full_disk(monkeypatch):
    def append(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(ops_tables, "append", append)


@pytest.mark.usefixtures("full_disk")
def test_a_run_without_a_problem_fails_with_the_error_of_the_append(tmp_path):
    failed = append_row(ended(), str(tmp_path))
    assert failed.status == "failed"
    because(failed.problem, SparkFailed, "unexpected", text=has("no space left"))


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("root", ["a disk", "s3://bucket/root"])
def test_the_problem_of_the_run_is_not_hidden_by_the_error_of_the_append(tmp_path, root):
    before = ended(status="failed", problem=PROBLEM)
    assert append_row(before, root if "://" in root else str(tmp_path)) == before


def test_a_run_that_was_refused_has_a_row_too(tmp_path):
    refused = Problem.of(LeaseHeld("another run works."))
    before = ended(generation="", status="failed", problem=refused)
    assert append_row(before, str(tmp_path)) == before
    (row,) = ops_tables.query(tmp_path, "runs", "SELECT * FROM runs").to_pylist()  # type: ignore[arg-type]  # any path will do
    assert (row["problem"], row["batches"]) == ("LEASE_HELD", len(before.batches))


def test_where_the_root_is_the_problem_it_is_not_asked_again(tmp_path):
    before = ended(status="failed", problem=Problem.of(RootUnreachable("no answer.")))
    assert append_row(before, str(tmp_path / "gone")) == before
    assert not (tmp_path / "gone").exists()


def test_a_count_that_the_run_does_not_know_is_null_in_its_row_and_on_the_pages(tmp_path):
    unknown = Account(read=9, duplicates=None, unaccounted=None)
    append_row(ended(account=unknown), str(tmp_path))
    row = ended().model_dump(include={"pipeline", "generation", "run_id"}) | {"batch_id": 0}
    ops_tables.append(UPath(tmp_path), "batches", [row | unknown.row()])
    [line] = history.runs(UPath(tmp_path), SPEC.name, 9, 0).runs
    [batch] = history.batches(UPath(tmp_path), SPEC.name, 9, 0).batches
    page = run_page(UPath(tmp_path), SPEC.name, line.run_id)
    for told in (line, batch.account, page.account):
        assert (told.read, told.duplicates, told.unaccounted) == (9, None, None)


def test_a_row_has_the_report_and_its_problem(tmp_path):
    before = ended(status="failed", problem=PROBLEM)
    assert append_row(before, str(tmp_path)) == before
    (row,) = ops_tables.query(tmp_path, "runs", "SELECT * FROM runs").to_pylist()  # type: ignore[arg-type]  # any path will do
    assert (row["pipeline"], row["status"], row["problem"]) == (SPEC.name, "failed", "CHECK_FAILED")
    assert Report.model_validate_json(row["report"]) == before
