"""The note of a run that works: the next run writes the row that a killed one left out."""

from typing import Any

import pytest

from spark_jobs.checkpoint.lease import Begun
from spark_jobs.errors import ReportMissing
from spark_jobs.messages.report import Report
from spark_jobs.ops import ops_tables
from spark_jobs.runs.run_outcome import RunOutcome
from spark_jobs.runs.run_record import append_row, begun
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import because
from tests.harness.roots import ROOT
from tests.unit.specs import pipeline

SPEC = pipeline()


@pytest.fixture
def paths(tmp_path) -> Paths:
    found = Paths(str(tmp_path / ROOT), SPEC)
    found.running.parent.mkdir(parents=True)  # as the lease does
    return found


def outcome(run_id: str) -> RunOutcome:
    return RunOutcome("drain", SPEC.name, run_id)


def killed(paths: Paths, run_id: str) -> RunOutcome:
    """A run that begins, and of which only the note is left."""
    run = outcome(run_id)
    with begun(paths, run):
        left = paths.running.read_text()
    paths.running.write_text(left)
    return run


def rows(paths: Paths) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ops_tables.query(
        paths.root, "runs", "SELECT * FROM runs"
    ).to_pylist()
    return found


def test_a_run_that_ends_leaves_no_note_and_the_next_writes_no_row_for_it(paths):
    def fails():
        with begun(paths, outcome("first")):
            assert Begun.read(paths.running).run_id == "first"
            raise ValueError("any error")

    with pytest.raises(ValueError, match="any error"):
        fails()
    with begun(paths, outcome("second")):
        pass
    assert rows(paths) == []
    assert not paths.running.exists()


def test_the_next_run_writes_the_row_of_one_that_was_killed(paths):
    run = killed(paths, "killed")
    with begun(paths, outcome("next")):
        [row] = rows(paths)
    assert (row["pipeline"], row["run_id"], row["kind"]) == (SPEC.name, "killed", "drain")
    assert (row["status"], row["problem"]) == ("failed", "REPORT_MISSING")
    assert row["started_at"] == run.started_at
    assert row["table_version"] is None
    report = Report.model_validate_json(row["report"])
    because(report.problem, ReportMissing, "run_vanished", run="killed")


def test_a_killed_run_whose_row_its_task_has_written_gets_no_second(paths):
    append_row(killed(paths, "killed").report(None), str(paths.root))
    with begun(paths, outcome("next")):
        pass
    assert len(rows(paths)) == 1


def test_a_row_of_an_earlier_run_of_the_same_id_is_not_that_of_the_killed_one(paths):
    append_row(outcome("mine").report(None), str(paths.root))
    killed(paths, "mine")
    with begun(paths, outcome("mine")):
        pass
    assert sorted(row["status"] for row in rows(paths)) == ["failed", "succeeded"]


@pytest.mark.parametrize("text", ["{", '{"format_version": 99}', '{"run_id": "x"}'])
def test_a_note_that_says_nothing_stops_no_run(paths, text):
    paths.running.write_text(text)
    with begun(paths, outcome("next")):
        assert Begun.read(paths.running).run_id == "next"
    assert rows(paths) == []


def test_a_run_that_has_lost_its_lease_leaves_the_note_of_the_one_that_has_it(paths):
    with begun(paths, outcome("suspended")):
        others = Begun.read(paths.running).model_copy(update={"run_id": "other"})
        others.write(paths.running)
    assert Begun.read(paths.running) == others


def test_a_note_that_cannot_be_removed_takes_no_verdict_away(paths, monkeypatch):
    def gone(*_: object, **__: object):
        raise OSError(5, "Input/output error")

    with begun(paths, outcome("first")):
        monkeypatch.setattr(type(paths.running), "unlink", gone)
