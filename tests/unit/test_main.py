"""The entry that spark-submit is given: always a report, and a watch over whoever waits for it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_jobs import main as entry
from spark_jobs.errors import ExpressionFailed, PipelineUnknown, RunStalled
from spark_jobs.launch import processes
from spark_jobs.messages.job import Drain, Repartition, Stage, read
from spark_jobs.messages.report import Problem, Report, read_report
from spark_jobs.storage import failpoint
from tests.harness import roots
from tests.harness.patience import patient
from tests.unit.specs import pipeline


@pytest.fixture
def words(tmp_path, monkeypatch) -> list[str]:
    """A drain of a pipeline that there is not: it ends before Spark."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(entry.gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(processes, "watch", lambda: None)
    time.tzset()
    return Drain(pipeline="nowhere", report=str(tmp_path / "report.json"), run_id="run").words()


def test_a_drain_that_never_began_leaves_a_report_and_the_errors_exit_status(words, tmp_path):
    assert entry.main(words) == 11
    assert read_report(tmp_path / "report.json").problem.code == "PIPELINE_UNKNOWN"


@pytest.mark.parametrize(
    ("by_command", "form", "told"), [(False, "text", 1), (True, "text", 0), (True, "json", 1)]
)
def test_a_problem_that_the_command_tells_is_not_told_twice(
    words, monkeypatch, capsys, by_command, form, told
):
    monkeypatch.setenv("SLUICE_LOG", form)
    assert (
        entry.main(read(words).model_copy(update={"told": by_command}).words())
        == PipelineUnknown.exit_status
    )
    assert capsys.readouterr().out.count(PipelineUnknown.code) == told


@pytest.mark.parametrize(("shown", "told"), [("hidden", 0), ("shown", 1)])
def test_an_error_that_quotes_a_record_has_its_values_only_where_they_are_shown(
    words, monkeypatch, capsys, shown, told
):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", shown)
    problem = Problem(code=ExpressionFailed.code, what="The value 'Ann' cannot be cast.")
    report = roots.report("sales", problem=problem)
    status = entry._ended(report, read(words))  # noqa: SLF001 - Spark throws it
    assert status == ExpressionFailed.exit_status
    said = capsys.readouterr().out
    assert (said.count(ExpressionFailed.code), said.count("Ann")) == (1, told)


def test_a_signal_kills_nobody_until_the_drains_report_is_written(words, tmp_path, monkeypatch):
    def interrupted(*_: object) -> Report:
        signal.raise_signal(signal.SIGTERM)
        raise PipelineUnknown("nowhere")

    def write(report: Report, path: Path):
        signal.raise_signal(signal.SIGTERM)
        path.write_text(report.model_dump_json())

    monkeypatch.setattr(entry, "drain", interrupted)
    monkeypatch.setattr(entry.registry, "load", lambda _: pipeline())
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    monkeypatch.setattr(Report, "write", write)
    assert entry.main(words) == PipelineUnknown.exit_status
    assert read_report(tmp_path / "report.json").problem is not None


def test_a_drain_watches_whoever_submitted_it(words, monkeypatch):
    watched: list[bool] = []
    monkeypatch.setattr(processes, "watch", lambda: watched.append(True))
    entry.main(words)
    assert watched == [True]


def test_the_report_is_there_before_the_last_place_that_can_fail(words, tmp_path, monkeypatch):
    monkeypatch.setitem(failpoint.ACTIVE, "reported", "raise")
    with pytest.raises(failpoint.Failure):
        entry.main(words)
    assert read_report(tmp_path / "report.json").run_id == "run"


@pytest.mark.parametrize(
    ("command", "kind"), [("drain", "drain"), ("stage", "repair"), ("stage", "verify")]
)
def test_the_watchdog_writes_a_report_of_a_kind_that_there_is(command, kind, words, monkeypatch):
    watched = list[str]()
    real = entry.Watchdog
    monkeypatch.setattr(
        entry, "Watchdog", lambda kind, *more: (watched.append(kind), real(kind, *more))[1]
    )
    job = read(words)
    assert isinstance(job, Drain)
    run = job.model_dump(exclude={"do"})
    staged = Stage.model_construct(kind=kind, repair_id="r", **run)
    entry.main(job.words() if command == "drain" else staged.words())
    assert watched == [kind]
    assert read_report(Path(job.report)).kind == kind, "of what ends before its plan is read"


def test_a_repartition_is_watched_as_a_run_is_and_leaves_no_report(words, tmp_path, monkeypatch):
    done = list[str]()
    monkeypatch.setattr(processes, "watch", lambda: done.append("parent"))
    monkeypatch.setattr(entry.Watchdog, "watch", lambda *_: done.append("watchdog"))
    moves = "spark_jobs.runs.repartition.repartition"
    monkeypatch.setattr(moves, lambda *_: iter(done.append("moved") or ["line"]))
    monkeypatch.setattr(entry.registry, "load", lambda _: pipeline())
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    assert entry.main(Repartition(pipeline="nowhere", partitions=4).words()) == 0
    assert done == ["parent", "watchdog", "moved"]


STANDS_STILL = """
import sys, time
from pathlib import Path
from spark_jobs.settings.installation import Settings
from spark_jobs.runs import watchdog
from tests.unit.specs import pipeline

watchdog.OUTSIDE_SECONDS = 1
root = Path(sys.argv[1])
spec = pipeline(stall_timeout="1 second")
with watchdog.Watchdog("drain", spec.name, "repartition-1", None) as watching:
    watching.watch(spec.stall_timeout, Settings(str(root), "127.0.0.1:1", root, "local[1]", "1g"))
    time.sleep(60)
"""


def test_a_repartition_that_stands_still_is_ended_without_a_report_and_a_row(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", STANDS_STILL, str(tmp_path)], check=False, timeout=patient(50)
    )
    assert ended.returncode == RunStalled.exit_status
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [
        "repartition-1.threads.txt"
    ]
