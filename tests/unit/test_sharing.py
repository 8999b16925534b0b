"""Which drains share an application, and which of them was at work when it was killed."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from upath import UPath

from spark_jobs import main
from spark_jobs.contract.errors import (
    CheckBroken,
    CheckFailed,
    LeaseHeld,
    ProcessorFailed,
    RunStalled,
    SluiceError,
    SparkFailed,
    Stopped,
    catalogue,
    worst,
)
from spark_jobs.contract.report import Problem, Report, read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.launch import submit
from spark_jobs.launch.sharing import (
    UNBEGUN,
    Due,
    killed_at_work,
    leaves_nothing_at_work,
    shared,
)
from spark_jobs.runs.watchdog import Watchdog
from tests.unit.specs import pipeline

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KILLED = -9
LOCAL = Settings("/root", "a:1", Path("/jars"), "local[2]", "3g")


def report(error: SluiceError | None = None, *, started: bool = True) -> Report:
    """Of a run that came to its session, or did not."""
    return Report(
        pipeline="p",
        run_id="run",
        status="failed" if error else "succeeded",
        problem=Problem.of(error) if error else None,
        started_at=NOON,
        ended_at=NOON,
        seconds={"settle": 1.0} | ({"start": 2.0} if started else {}),
    )


def due(pipeline: str, records: int = 10, **options: str) -> Due:
    return Due(pipeline, Path(f"/reports/{pipeline}.json"), records, options)


def names(applications: list[list[Due]]) -> list[list[str]]:
    return [[each.pipeline for each in one] for one in applications]


def test_drains_with_the_same_options_of_spark_share_an_application_in_their_order() -> None:
    found = shared([due("a"), due("b", x="1", y="2"), due("c"), due("d", y="2", x="1")], LOCAL)
    assert names(found) == [["a", "c"], ["b", "d"]]


def test_on_a_cluster_each_has_an_application_of_its_own() -> None:
    there = LOCAL._replace(master="spark://a:7077")
    assert names(shared([due("a"), due("b")], there)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("ended", "fit"),
    [
        (report(), True),
        (report(CheckFailed("x")), True),
        (report(CheckBroken("x")), True),
        (report(LeaseHeld("x"), started=False), True),
        (report(LeaseHeld("x")), False),
        (report(ProcessorFailed("x")), False),
        (report(SparkFailed("x")), False),
        (report(Stopped("x")), False),
    ],
)
def test_a_jvm_is_used_again_behind_a_run_that_ended_by_itself_or_never_had_a_session(
    ended: Report, fit: bool
) -> None:
    assert leaves_nothing_at_work(ended) is fit


@pytest.mark.parametrize(
    ("reports", "status", "killed"),
    [
        ([None, None], KILLED, 0),
        ([report(), None, None], KILLED, 1),
        ([report(CheckFailed("x")), None], 137, 1),
        ([report(), report()], KILLED, None),
        ([report(SparkFailed("x")), None], KILLED, None),
        ([report(), None], UNBEGUN, None),
        ([report(SparkFailed("x")), None], UNBEGUN, None),
        ([None, None], UNBEGUN, 0),  # its report could not be written: it is not begun for ever
        ([report(), None], Stopped.exit_status, None),
        ([None, None], Stopped.exit_status, None),
    ],
)
def test_the_first_drain_without_a_report_was_at_work_unless_the_application_had_ended_before_it(
    reports: list[Report | None], status: int, killed: int | None
) -> None:
    assert killed_at_work(reports, status) == killed


def test_behind_a_drain_that_the_watchdog_has_ended_the_next_one_is_not_at_work(
    tmp_path: Path,
) -> None:
    told, settings = tmp_path / "a.json", LOCAL._replace(root=str(tmp_path))
    Watchdog("drain", "run", UPath(told))._tell(pipeline(), settings)  # noqa: SLF001 - but for the end of the process, what it does
    ended = read_report(told)
    assert ended.problem is not None
    assert ended.problem.code == RunStalled.code
    assert not leaves_nothing_at_work(ended)
    assert killed_at_work([ended, None], KILLED) is None


def test_no_error_has_the_exit_status_of_an_application_that_left_drains_to_another_one() -> None:
    assert UNBEGUN not in {error.exit_status for error in catalogue()}


def test_the_worst_is_the_first_that_no_later_run_mends_by_itself() -> None:
    held, failed, other = LeaseHeld("x"), CheckFailed("x"), ProcessorFailed("x")
    assert worst([None, held, failed, other]) is failed
    assert worst([held, SparkFailed("x")]) is held
    assert worst([None]) is None


def test_the_command_of_several_drains_is_one_that_the_application_understands(
    tmp_path: Path,
) -> None:
    (tmp_path / "delta-spark.jar").touch()
    several = [due("flight_events", 2_000_000), due("departure_delays", 2_000_000)]
    command = submit.together_command(LOCAL._replace(jars=tmp_path), several, "run-1")
    at = command.index(submit.application())
    wanted = main._parse(command[at + 1 :])  # noqa: SLF001 - the two must understand each other
    assert wanted.pipelines == ["flight_events", "departure_delays"]
    assert [Path(str(path)) for path in wanted.report] == [each.report for each in several]
    assert wanted.run_id == "run-1"
    assert f"spark.python.daemon.module={submit.DAEMON}" in command
    assert "TieredStopAtLevel" not in " ".join(command), "together they read 4 million records"
