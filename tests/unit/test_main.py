"""The entry that spark-submit is given: always a report, and a watch over whoever waits for it."""

import time
from pathlib import Path

import pytest

from spark_jobs import failpoint, main as entry, orphan
from spark_jobs.contract.report import read_report


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A drain of a pipeline that there is not: it ends before Spark."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(entry.gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(orphan, "watch", lambda: None)
    time.tzset()
    return ["drain", "nowhere", "--report", str(tmp_path / "report.json"), "--run-id", "run"]


def test_a_drain_that_never_began_leaves_a_report_and_the_errors_exit_status(words: list[str], tmp_path: Path) -> None:
    assert entry.main(words) == 11
    problem = read_report(tmp_path / "report.json").problem
    assert problem is not None
    assert problem.code == "PIPELINE_UNKNOWN"


def test_a_drain_watches_whoever_submitted_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[bool] = []
    monkeypatch.setattr(orphan, "watch", lambda: watched.append(True))
    entry.main(words)
    assert watched == [True]


def test_the_report_is_there_before_the_last_place_where_a_run_can_fail(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(failpoint.ACTIVE, "reported", "raise")
    with pytest.raises(failpoint.Failure):
        entry.main(words)
    assert read_report(tmp_path / "report.json").run_id == "run"
