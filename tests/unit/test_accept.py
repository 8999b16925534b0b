"""A person accepts a failed check: over a real table and real ops tables."""

from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.admin.accept import accept
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import DecisionRefused, FormatNewer, LeaseHeld
from spark_jobs.messages.report import CheckResult
from spark_jobs.ops import ops_tables
from spark_jobs.runs.publish.publication import to_publish
from tests.harness import roots
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.specs import pipeline

SPEC = pipeline()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROW = pa.table({"n": [1]})


def failed(column: str, severity: str = "critical") -> CheckResult:
    return roots.check(column=column, severity=severity)


class Root(roots.Root):
    """A root whose last run has failed by its checks, at version 0 of the table."""

    def __init__(self, folder: Path):
        super().__init__(folder, SPEC)
        self.paths.ensure_writable()
        self.identified("g")
        deltalake.write_deltalake(str(self.paths.table), ROW)
        Cursor(audited=3, judged=1, judged_table_version=0).write(self.paths.cursor)

    def failed(self, *checks: CheckResult, code: str = "CHECK_FAILED", version: int = 0):
        self.ended("the run", code, generation="g", table_version=version, checks=checks)

    def rewrite_report(self, old: str, new: str):
        """As a newer release would have written the row's report."""
        rows = self.told("runs")
        rows[0]["report"] = rows[0]["report"].replace(old, new)
        ops_tables.replace(
            self.paths.root, "runs", rows, ops_tables.equals({"run_id": rows[0]["run_id"]})
        )

    def accept(self, *names: str, reason: str = "ZZ is new"):
        intent = accept(SPEC, self.settings, names, reason, "ana")
        assert self.cursor.judged == 1, "showing decides nothing"
        intent.execute()


@pytest.fixture
def root(tmp_path) -> Root:
    return Root(tmp_path / ROOT)


@pytest.mark.parametrize("name", ["expect_x", "expect_x(n)"])
def test_the_rows_pass_the_decision_is_kept_and_publish_has_work(root, name):
    root.failed(failed("n"), failed("w", "warning"))
    root.accept(name)
    cursor = root.cursor
    assert (cursor.judged, cursor.judged_table_version) == (3, 0)
    assert to_publish(root.paths, SPEC) == 0
    [row] = root.told("checks")
    assert (row["outcome"], row["about"], row["run_id"]) == (
        "accepted",
        "ZZ is new",
        "accepted by ana",
    )
    assert (row["column"], row["unexpected"], row["table_version"]) == ("n", 3, 0)


def test_what_is_accepted_is_shown_without_values_unless_they_are_shown(root, monkeypatch):
    """Airflow's task logs these lines."""
    root.failed(failed("n").model_copy(update={"sample": '["Ann"]', "observed": '["Ann"]'}))
    for setting in ("hidden", "shown"):
        monkeypatch.setenv("SLUICE_RECORD_BYTES", setting)
        lines = accept(SPEC, root.settings, ("expect_x",), "why", "ana").lines
        assert any("Ann" in line for line in lines) is (setting == "shown")


def test_every_check_that_failed_must_be_named(root):
    root.failed(failed("n"), failed("m"))
    with fails(DecisionRefused, "others_failed", left=has("expect_x")):
        root.accept("expect_x(n)")
    root.accept("expect_x(n)", "expect_x(m)")
    assert root.cursor.judged == 3


@pytest.mark.parametrize(
    ("names", "reason", "because"),
    [
        (("expect_y",), "why", "check_did_not_fail"),
        (("expect_x(w)",), "why", "check_did_not_fail"),
        (("expect_x(n)",), "  ", "acceptance_unexplained"),
    ],
)
def test_what_did_not_fail_and_what_has_no_reason_is_refused(root, names, reason, because):
    root.failed(failed("n"), failed("w", "warning"))
    with fails(DecisionRefused, because):
        root.accept(*names, reason=reason)


def test_rows_that_were_written_after_the_verdict_are_not_accepted_with_it(root):
    root.failed(failed("n"))
    deltalake.write_deltalake(str(root.paths.table), ROW, mode="append")
    with fails(DecisionRefused, "verdict_outdated", now=1):
        root.accept("expect_x")


def test_files_that_were_joined_after_the_verdict_do_not_void_it(root):
    root.failed(failed("n"))
    deltalake.DeltaTable(str(root.paths.table)).optimize.z_order(["n"])
    assert deltalake.DeltaTable(str(root.paths.table)).version() == 1
    root.accept("expect_x")
    assert root.cursor.judged_table_version == 0


@pytest.mark.parametrize("code", ["CHECK_BROKEN", "SPARK_FAILED"])
def test_a_run_that_ended_otherwise_has_judged_nothing(root, code):
    root.failed(failed("n"), code=code)
    with fails(DecisionRefused, "verdict_outdated"):
        root.accept("expect_x")


def test_where_everything_has_passed_there_is_nothing_to_accept(root):
    root.failed(failed("n"))
    Cursor(audited=3, judged=3, judged_table_version=0).write(root.paths.cursor)
    with fails(DecisionRefused, "nothing_to_accept"):
        accept(SPEC, root.settings, ("expect_x",), "why", "ana")


def test_a_run_that_works_or_has_ended_meanwhile_is_not_overruled(root):
    root.failed(failed("n"))
    intent = accept(SPEC, root.settings, ("expect_x",), "why", "ana")
    with lease(root.paths.lease, "a run"), pytest.raises(LeaseHeld):
        intent.execute()
    Cursor(audited=4, judged=1, judged_table_version=0).write(root.paths.cursor)
    with fails(DecisionRefused, "overtaken"):
        intent.execute()


def test_a_report_of_a_newer_release_is_read_and_one_of_a_newer_form_is_refused(root):
    root.failed(failed("n"))
    root.rewrite_report('"pipeline"', '"from_tomorrow":1,"pipeline"')
    root.accept("expect_x")
    Cursor(audited=3, judged=1, judged_table_version=0).write(root.paths.cursor)
    root.rewrite_report('"report_version":1', '"report_version":2')
    with fails(FormatNewer, "form_unknown"):
        root.accept("expect_x")
