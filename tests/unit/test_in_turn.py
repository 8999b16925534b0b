"""Several drains in one application, without Spark: what stands for it notes what is asked of it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.contract.errors import CheckFailed, LeaseHeld, RunStalled, SparkFailed, Stopped
from spark_jobs.contract.report import Report
from spark_jobs.launch.sharing import UNBEGUN
from spark_jobs.runs.stillness import OUTSIDE_SECONDS
from spark_jobs.stopping import StopRequest, stop_on_signals
from spark_jobs.warm import in_turn as module
from spark_jobs.warm.in_turn import in_turn
from tests.unit.test_sharing import report


class Noted:
    """In place of the JVM. `fails` names what raises."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.did = list[str]()

    def start(self) -> "Noted":
        self._do("start")
        return self

    def new_session(self) -> None:
        self._do("session")

    def clean(self) -> None:
        self._do("clean")

    def drain(self, name: str, ends: Report, then: Callable[[], None] = lambda: None) -> Report:
        self.did.append(name)
        then()
        return ends

    def _do(self, what: str) -> None:
        self.did.append(what)
        if what == self.fails:
            raise RuntimeError(what)


def done(spark: Noted, stop: StopRequest | None = None, **ends: Report) -> int:
    """The exit status of an application whose drains end like this."""
    drains = {name: lambda name=name: spark.drain(name, ends[name]) for name in ends}
    return in_turn(drains, stop or StopRequest(), spark.start)


def test_each_drain_has_a_session_of_its_own_and_finds_nothing_of_the_one_before() -> None:
    spark = Noted()
    assert done(spark, a=report(), b=report(), c=report()) == 0
    assert spark.did == [
        *("start", "session", "a"),
        *("clean", "session", "b"),
        *("clean", "session", "c"),
    ]


def test_a_failed_check_and_a_busy_lease_leave_the_others_and_the_exit_status_says_the_worst() -> (
    None
):
    spark = Noted()
    held = report(LeaseHeld("x"), started=False)
    assert done(spark, a=held, b=report(CheckFailed("x")), c=report()) == CheckFailed.exit_status
    assert [name for name in spark.did if len(name) == 1] == ["a", "b", "c"]


def test_behind_a_drain_that_may_have_left_a_query_at_work_the_application_ends() -> None:
    spark = Noted()
    assert done(spark, a=report(), b=report(SparkFailed("x")), c=report()) == UNBEGUN
    assert spark.did[-1] == "b", "nothing is cleaned up at leisure"


def test_the_last_drain_ends_the_application_whatever_came_of_it() -> None:
    spark = Noted()
    assert done(spark, a=report(), b=report(SparkFailed("x"))) == SparkFailed.exit_status
    assert spark.did[-1] == "b"


@pytest.mark.parametrize("fails", ["clean", "session"])
def test_what_cannot_be_cleaned_up_ends_it_too(fails: str) -> None:
    spark = Noted()

    def broken() -> Report:
        spark.fails = fails
        return spark.drain("a", report())

    drains = {"a": broken, "b": lambda: spark.drain("b", report())}
    assert in_turn(drains, StopRequest(), spark.start) == UNBEGUN
    assert "b" not in spark.did


def test_a_clean_up_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLEAN_SECONDS", 0.1)
    spark = Noted()
    monkeypatch.setattr(spark, "clean", signal.pause)
    assert done(spark, a=report(), b=report()) == UNBEGUN


@pytest.mark.parametrize("fails", ["start", "session"])
def test_a_spark_that_does_not_start_is_told_by_the_first_drain_alone(fails: str) -> None:
    spark = Noted(fails)
    assert done(spark, a=report(SparkFailed("x"), started=False), b=report()) == UNBEGUN
    assert [name for name in spark.did if len(name) == 1] == ["a"]


def test_a_stop_ends_it_behind_the_drain_at_work_also_if_that_one_ends_well() -> None:
    spark = Noted()
    with stop_on_signals() as stop:
        drains = {
            "a": lambda: spark.drain("a", report(), lambda: signal.raise_signal(signal.SIGTERM)),
            "b": lambda: spark.drain("b", report()),
        }
        assert in_turn(drains, stop, spark.start) == Stopped.exit_status
    assert "b" not in spark.did


@pytest.mark.parametrize("ends", [report(), report(CheckFailed("x"))])
def test_a_stop_at_the_checks_of_the_last_drain_is_told_to_who_may_start_another_application(
    ends: Report,
) -> None:
    spark, stop = Noted(), StopRequest()
    drains = {
        "a": lambda: spark.drain("a", report(CheckFailed("x"))),
        "b": lambda: spark.drain("b", ends, lambda: stop.stop("somebody")),
    }
    assert in_turn(drains, stop, spark.start) == Stopped.exit_status


HANGS = """
import signal
from spark_jobs.stopping import StopRequest
from spark_jobs.warm import in_turn as module
module.START_SECONDS = 0.1
module.in_turn({"a": lambda: print("begun")}, StopRequest(), {start})
"""


@pytest.mark.parametrize(
    "start", ["signal.pause", "lambda: type('S', (), {'new_session': signal.pause})"]
)
def test_a_spark_that_hangs_at_its_start_ends_the_process_and_no_drain_begins(start: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGS.replace("{start}", start)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (RunStalled.exit_status, "")
    assert "Spark has not started within 0.1 s" in done.stderr


def test_nobody_ends_an_application_whose_spark_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.2)
    ended = list[str]()
    monkeypatch.setattr(module, "_end_process", lambda: ended.append("ended"))
    spark = Noted()
    drains = {"a": lambda: spark.drain("a", report(), lambda: time.sleep(0.4))}
    assert in_turn(drains, StopRequest(), spark.start) == 0
    assert ended == []


def test_sparks_start_has_as_long_as_a_watchdog_allows_for_it() -> None:
    assert module.START_SECONDS == OUTSIDE_SECONDS


def test_a_stop_before_the_first_begins_none() -> None:
    spark, stop = Noted(), StopRequest()
    stop.stop("somebody")
    assert done(spark, stop, a=report(), b=report()) == Stopped.exit_status
    assert "a" not in spark.did


def test_a_drain_finds_no_variable_folder_path_or_module_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loose_code.py").write_text("SEEN = []")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = list[object]()

    def leave() -> Report:
        import loose_code  # noqa: PLC0415 - as a pipeline's code is loaded

        seen.append((os.environ.get("LEFT"), Path.cwd() == tmp_path, [*loose_code.SEEN]))
        loose_code.SEEN.append(1)
        os.environ["LEFT"] = "behind"
        os.chdir(tmp_path)
        sys.path.append("/left")
        return report()

    assert in_turn({"a": leave, "b": leave}, StopRequest(), Noted().start) == 0
    assert seen == [(None, False, [])] * 2
    assert "/left" not in sys.path
