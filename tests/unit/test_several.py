"""`sluice drain` of several pipelines, with applications that a test has written: they leave the
reports that a real one leaves. tests/e2e/test_together.py has real ones.
"""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import deltalake
import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli import app, draining, several
from spark_jobs.contract.errors import (
    CheckFailed,
    JarsMissing,
    LeaseHeld,
    PipelineUnknown,
    ReportMissing,
    SettingInvalid,
    SluiceError,
    SparkFailed,
    Stopped,
)
from spark_jobs.contract.report import Problem, Report, read_report
from spark_jobs.launch.foreground import Ended
from spark_jobs.launch.sharing import UNBEGUN, Due
from spark_jobs.runs.run_record import append_row
from tests.unit.test_sharing import NOON

ALL = ("flight_events", "departure_delays", "aircraft_rotations")
USAGE = 2
KILLED = -9


class Applications:
    """What is started in place of spark-submit: each ends as `script` says, in turn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.started = list[list[str]]()
        self.script = list[tuple[dict[str, SluiceError | None], Ended]]()
        """Of each: the drains that leave a report, with its problem, and how it ends."""
        self._due = list[Due]()
        patch.setattr(several, "together_command", lambda _, due, __: self._of(due))
        patch.setattr(several, "command", lambda _, name, path, *__: self._of([_due(name, path)]))
        patch.setattr(several, "run_in_foreground", self.run)

    def ends(self, status: int = 0, *, asked: bool = False, **reports: SluiceError | None) -> None:
        """The next one does."""
        self.script.append((reports, Ended(status, asked)))

    def _of(self, due: list[Due]) -> list[str]:
        self._due = due
        return []

    def run(self, *_: object) -> Ended:
        """One of them."""
        self.started.append([each.pipeline for each in self._due])
        reports, ended = self.script.pop(0)
        for each in self._due:
            if each.pipeline in reports:
                _report(each.pipeline, reports[each.pipeline]).write(each.report)
        return ended


def _due(name: str, path: Path) -> Due:
    return Due(name, path, 0, {})


def _report(pipeline: str, problem: SluiceError | None) -> Report:
    return Report(
        pipeline=pipeline,
        run_id="mine",
        status="failed" if problem else "succeeded",
        problem=Problem.of(problem) if problem else None,
        started_at=NOON,
        ended_at=NOON,
        seconds={"start": 1.0},
    )


@pytest.fixture
def applications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_as_before: None
) -> Applications:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    new = SimpleNamespace(lines=("new offsets",), idle=False, new_offsets=5)
    monkeypatch.setattr("spark_jobs.runs.plan.plan", lambda *_: new)
    return Applications(monkeypatch)


def sluice(*words: str) -> Result:
    return CliRunner().invoke(
        app, ["drain", *words, "--run-id", "mine"], env={"COLUMNS": "200", "TERM": "dumb"}
    )


def rows(root: Path) -> dict[str, str | None]:
    """Pipeline -> problem, in ops.runs: of those drains that did not come to write it themselves."""
    table = deltalake.DeltaTable(str(root / "ops" / "runs")).to_pyarrow_table().to_pylist()
    assert len(table) == len({row["pipeline"] for row in table}), "a row twice"
    return {row["pipeline"]: row["problem"] for row in table}


@contextmanager
def heard() -> Iterator[None]:
    """Within the block, Ctrl-C is as in a terminal, also where a shell started the tests in the
    background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def last_line(done: Result) -> str:
    return str(done.stdout.splitlines()[-1])


def test_one_application_drains_them_all_and_the_last_line_is_about_all(
    applications: Applications,
) -> None:
    applications.ends(**dict.fromkeys(ALL))
    done = sluice(*ALL, ALL[0])
    assert done.exit_code == 0, done.output
    assert applications.started == [[*ALL]], "and each once"
    assert done.stdout.count("report: ") == 3
    assert last_line(done) == (
        "3 pipelines: flight_events drained; departure_delays drained; aircraft_rotations drained"
    )


def test_one_that_is_refused_or_has_nothing_to_do_starts_nothing_and_leaves_the_others(
    applications: Applications, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(spec: SimpleNamespace, _: object) -> SimpleNamespace:
        if spec.name == "flight_events":
            raise LeaseHeld("another run works.")
        idle = spec.name == "departure_delays"
        return SimpleNamespace(lines=("a plan",), idle=idle, new_offsets=5)

    monkeypatch.setattr("spark_jobs.runs.plan.plan", plan)
    applications.ends(aircraft_rotations=None)
    done = sluice("nowhere", *ALL)
    assert applications.started == [["aircraft_rotations"]]
    assert done.exit_code == PipelineUnknown.exit_status, "a busy lease is mended by the next run"
    assert [line.split()[0] for line in done.stderr.splitlines()] == [
        "PIPELINE_UNKNOWN",
        "LEASE_HELD",
    ]
    assert last_line(done) == (
        "4 pipelines: nowhere failed (PIPELINE_UNKNOWN); flight_events failed (LEASE_HELD); "
        "departure_delays has nothing to do; aircraft_rotations drained"
    )
    assert rows(tmp_path) == {"flight_events": "LEASE_HELD"}


def test_a_failed_drain_ends_its_application_and_the_others_are_done_in_the_next_one(
    applications: Applications,
) -> None:
    first, second, third = ALL
    applications.ends(UNBEGUN, **{first: CheckFailed("x"), second: SparkFailed("y")})
    applications.ends(**{third: None})
    done = sluice(*ALL)
    assert applications.started == [[*ALL], [third]]
    assert done.exit_code == CheckFailed.exit_status
    assert last_line(done).endswith(
        "flight_events failed (CHECK_FAILED); departure_delays failed (SPARK_FAILED); "
        "aircraft_rotations drained"
    )


def test_a_killed_application_takes_the_drain_at_work_and_no_other(
    applications: Applications, tmp_path: Path
) -> None:
    first, second, third = ALL
    applications.ends(KILLED, **{first: None})
    applications.ends(KILLED, asked=False)
    done = sluice(*ALL)
    assert applications.started == [[*ALL], [third]]
    assert done.exit_code == ReportMissing.exit_status
    assert rows(tmp_path) == {second: "REPORT_MISSING", third: "REPORT_MISSING"}
    assert "flight_events drained" in last_line(done)


def test_a_drain_that_has_written_its_own_row_has_one(
    applications: Applications, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = _report(ALL[0], SparkFailed("y"))

    def run(*_: object) -> Ended:
        if not applications.started:
            its_row = failed.model_copy(update={"ended_at": datetime.now(UTC)})
            append_row(its_row, str(tmp_path))
        return applications.run()

    monkeypatch.setattr(several, "run_in_foreground", run)
    applications.ends(UNBEGUN, **{ALL[0]: SparkFailed("y")})
    applications.ends(**{ALL[1]: None})
    sluice(*ALL[:2])
    assert rows(tmp_path) == {ALL[0]: "SPARK_FAILED"}


@pytest.mark.parametrize(
    ("status", "asked", "second"),
    [
        (Stopped.exit_status, True, "STOPPED"),
        (Stopped.exit_status, False, "STOPPED"),  # somebody else asked its driver
        (KILLED, True, "REPORT_MISSING"),  # a second Ctrl-C
    ],
)
def test_a_stop_begins_no_other_pipeline_and_each_of_them_says_so(
    status: int, asked: bool, second: str, applications: Applications, tmp_path: Path
) -> None:
    applications.ends(status, asked=asked, **{ALL[0]: None})
    done = sluice(*ALL)
    assert len(applications.started) == 1
    assert done.exit_code in {Stopped.exit_status, ReportMissing.exit_status}
    assert rows(tmp_path) == {ALL[1]: second, ALL[2]: "STOPPED"}
    assert f"{ALL[2]}: the command was asked to stop before this pipeline began." in done.stderr


def test_a_stop_that_a_report_tells_of_begins_no_other_pipeline(
    applications: Applications,
) -> None:
    applications.ends(KILLED, **{ALL[0]: Stopped("x")})
    assert sluice(*ALL).exit_code == Stopped.exit_status
    assert len(applications.started) == 1


def test_ctrl_c_between_plans_begins_nothing(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[str]()
    monkeypatch.setattr(several, "warm", lambda due, *_: begun.append(due.pipeline))
    monkeypatch.setattr(
        "spark_jobs.runs.plan.plan",
        lambda *_: (
            signal.raise_signal(signal.SIGINT),
            SimpleNamespace(lines=(), idle=False, new_offsets=5),
        )[1],
    )
    with heard():
        assert sluice(*ALL).exit_code == Stopped.exit_status
    assert (applications.started, begun) == ([], []), "nor by a worker"


def test_other_options_of_spark_are_another_application_and_it_is_said(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        draining, "options", lambda name, _: {"spark.x": "1"} if name == ALL[1] else {}
    )
    applications.ends(**{ALL[0]: None, ALL[2]: None})
    applications.ends(**{ALL[1]: None})
    done = sluice(*ALL)
    assert done.exit_code == 0
    assert applications.started == [[ALL[0], ALL[2]], [ALL[1]]]
    assert "2 applications: an application has one set of Spark's options" in done.stdout


def test_a_worker_gets_them_one_by_one_and_what_it_does_not_take_shares_an_application(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[str]()

    class Run:
        def __init__(self, due: Due) -> None:
            self._due = due

        def follow(self) -> bool:
            taken.append(self._due.pipeline)
            _report(self._due.pipeline, None).write(self._due.report)
            return False

    monkeypatch.setattr(
        several, "warm", lambda due, *_: Run(due) if due.pipeline == ALL[0] else None
    )
    applications.ends(**{ALL[1]: None, ALL[2]: None})
    done = sluice(*ALL)
    assert (taken, applications.started) == ([ALL[0]], [[*ALL[1:]]])
    assert last_line(done).count("drained") == 3


def test_a_stopped_warm_drain_begins_no_other_one(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(due: Due, *_: object) -> SimpleNamespace:
        def follow() -> bool:
            _report(due.pipeline, None).write(due.report)
            return True

        return SimpleNamespace(follow=follow)

    monkeypatch.setattr(several, "warm", begun)
    done = sluice(*ALL)
    assert done.exit_code == Stopped.exit_status
    assert last_line(done) == (
        "3 pipelines: flight_events drained; departure_delays failed (STOPPED); "
        "aircraft_rotations failed (STOPPED)"
    )


def test_what_nobody_foresaw_in_one_plan_leaves_the_others(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(spec: SimpleNamespace, _: object) -> SimpleNamespace:
        if spec.name == ALL[0]:
            raise ZeroDivisionError("a mistake")
        return SimpleNamespace(lines=(), idle=False, new_offsets=5)

    monkeypatch.setattr("spark_jobs.runs.plan.plan", plan)
    applications.ends(**{ALL[1]: None})
    done = sluice(*ALL[:2])
    assert done.exit_code == SparkFailed.exit_status
    assert "ZeroDivisionError" in done.stderr
    assert applications.started == [[ALL[1]]]


def _no_jars(*_: object) -> list[str]:
    raise JarsMissing("no jars.")


def _no_program(*_: object) -> Ended:
    raise FileNotFoundError("spark-submit")


@pytest.mark.parametrize(
    ("fails", "broken", "code"),
    [
        ("together_command", _no_jars, "JARS_MISSING"),
        ("run_in_foreground", _no_program, "SPARK_FAILED"),
    ],
)
def test_an_application_that_cannot_be_started_is_told_by_each_of_its_drains_and_leaves_the_others(
    fails: str,
    broken: Callable[..., object],
    code: str,
    applications: Applications,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = getattr(several, fails)
    works = iter([broken])

    def first_broken(*given: object) -> object:
        return next(works, before)(*given)

    monkeypatch.setattr(several, fails, first_broken)
    monkeypatch.setattr(
        draining, "options", lambda name, _: {"spark.x": "1"} if name == ALL[2] else {}
    )
    applications.ends(**{ALL[2]: None})
    done = sluice(*ALL)
    assert applications.started == [[ALL[2]]]
    assert [line.split()[0] for line in done.stderr.splitlines()] == [code, code]
    assert rows(tmp_path) == {ALL[0]: code, ALL[1]: code}
    assert last_line(done) == (
        f"3 pipelines: flight_events failed ({code}); departure_delays failed ({code}); "
        "aircraft_rotations drained"
    )


def test_a_report_that_cannot_be_read_is_told_of_its_pipeline_and_leaves_the_others(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path) -> Report:
        if ALL[0] in str(path):
            raise PermissionError("not yours")
        return read_report(path)

    monkeypatch.setattr(several, "read_report", read)
    applications.ends(**dict.fromkeys(ALL))
    done = sluice(*ALL)
    assert applications.started == [[*ALL]]
    assert "PermissionError: not yours" in done.stderr
    assert last_line(done).endswith("departure_delays drained; aircraft_rotations drained")


@pytest.mark.parametrize("status", [UNBEGUN, Stopped.exit_status])
def test_a_drain_that_has_its_row_and_no_report_is_not_done_again_and_has_no_second_row(
    status: int, applications: Applications, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> Ended:
        if not applications.started:
            its_row = _report(ALL[1], None).model_copy(update={"ended_at": datetime.now(UTC)})
            append_row(its_row, str(tmp_path))
        return applications.run()

    monkeypatch.setattr(several, "run_in_foreground", run)
    applications.ends(status, **{ALL[0]: None})
    applications.ends(**{ALL[2]: None})
    done = sluice(*ALL)
    again = [[ALL[2]]] if status == UNBEGUN else []
    assert applications.started == [[*ALL], *again]
    assert "departure_delays failed (REPORT_MISSING)" in last_line(done)
    left = {} if again else {ALL[2]: "STOPPED"}
    assert rows(tmp_path) == {ALL[1]: None} | left


def test_the_exit_status_goes_by_the_order_of_the_names_and_not_of_the_failures(
    applications: Applications,
) -> None:
    applications.ends(**{ALL[0]: CheckFailed("x")})
    assert sluice(ALL[0], "nowhere").exit_code == CheckFailed.exit_status


def test_ctrl_c_while_a_worker_is_asked_stops_the_drain_that_it_has_begun(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[str]()

    def begun(due: Due, *_: object) -> SimpleNamespace:
        signal.raise_signal(signal.SIGINT)

        def follow() -> bool:
            _report(due.pipeline, Stopped("x") if told else None).write(due.report)
            return False

        return SimpleNamespace(follow=follow, stop=lambda: told.append(due.pipeline))

    monkeypatch.setattr(several, "warm", begun)
    with heard():
        assert sluice(*ALL).exit_code == Stopped.exit_status
    assert told == [ALL[0]]


def test_a_second_ctrl_c_during_the_plans_ends_at_once(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = list[str]()

    def plan(spec: SimpleNamespace, _: object) -> SimpleNamespace:
        planned.append(spec.name)
        for _again in range(2):
            signal.raise_signal(signal.SIGINT)
        planned.append("goes on")
        return SimpleNamespace(lines=(), idle=False, new_offsets=5)

    monkeypatch.setattr("spark_jobs.runs.plan.plan", plan)
    with heard():
        assert sluice(*ALL).exit_code != 0
    assert (planned, applications.started) == ([ALL[0]], [])


def test_what_is_wrong_for_all_is_told_once(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_KAFKA", "nowhere")
    done = sluice(*ALL)
    assert done.exit_code == SettingInvalid.exit_status
    assert len(done.stderr.splitlines()) == 1


def test_one_report_is_no_place_for_several(applications: Applications, tmp_path: Path) -> None:
    done = sluice(*ALL, "--report", str(tmp_path / "report"))
    assert done.exit_code == USAGE
    assert "--report" in done.stderr


def test_lines_name_their_pipeline(
    applications: Applications, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_LOG", "json")
    caplog.set_level(logging.INFO)
    applications.ends(**dict.fromkeys(ALL))
    lines = sluice(*ALL).stdout.splitlines()
    for name in ALL:
        assert sum(f'"pipeline": "{name}", "run": "mine"' in line for line in lines) >= 2, name
    assert '"pipeline": null' in lines[-1]
