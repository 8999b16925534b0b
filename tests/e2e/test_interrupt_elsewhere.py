"""A drain that is asked to stop where no batch is at work: before Spark, and while it is judged."""

import os
import signal
import threading
from pathlib import Path

import pytest

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import Stopped
from spark_jobs.messages.report import Report
from spark_jobs.runs.plan import plan
from spark_jobs.storage import failpoint
from tests.harness.process import PIPELINES, Running, none_left
from tests.harness.refused import because
from tests.harness.scene import Scene
from tests.harness.session import surroundings
from tests.harness.turns import alike

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a drain as a process"),
]


@pytest.fixture(autouse=True)
def pipelines(kafka):
    with surroundings(kafka) as patch, none_left():
        patch.setenv("SLUICE_PIPELINES", PIPELINES)
        yield patch


def asked(scene: Scene, run_id: str, place: str, waiting: Path) -> Report:
    """Held there, it is asked to stop as `sluice drain`, Airflow or the end of a machine asks."""
    (held := waiting / place).unlink(missing_ok=True)

    def ask() -> None:
        Running.wait_until(held.exists, f"failpoint {place}")
        os.kill(os.getpid(), signal.SIGTERM)
        held.unlink()

    asker = threading.Thread(target=ask)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(failpoint.ACTIVE, place, "wait")
        patch.setattr(failpoint, "WAITING", str(waiting))
        asker.start()
        report = scene.drain(run_id)
        asker.join()
    return report


def test_before_it_reads_it_ends_with_a_report_and_while_judged_it_is_done(kafka, spark, tmp_path):
    scene = Scene(kafka, tmp_path, "flight_events", events=800, deliveries=1, stores=1)
    scene.deliver_all()

    early = asked(scene, "early", "leased", tmp_path)
    because(early.problem, Stopped, "before_reading")
    assert early.batches == ()
    assert Checkpoint(scene.paths.checkpoint).planned() == []

    late = asked(scene, "late", "checks", tmp_path)
    assert (late.status, late.bounded_by) == ("succeeded", "")
    assert {check.outcome for check in late.checks} == {"passed"}
    assert plan(scene.spec, scene.settings).idle, (
        "nothing that this run did waits for another, to be judged or published"
    )
    scene.assert_exact()


def test_after_the_account_of_an_earlier_run_it_reads_nothing_and_judges_that_account(
    kafka, spark, tmp_path, pipelines
):
    scene = Scene(kafka, tmp_path, "flight_events", events=800, deliveries=2, stores=1)
    scene.deliver()
    pipelines.setitem(failpoint.ACTIVE, "audit", "raise")
    assert scene.drain("failed").problem is not None
    failpoint.ACTIVE.clear()
    scene.deliver()

    def ask(line: str):
        if "completed the account of batches [0" in line:
            signal.raise_signal(signal.SIGTERM)

    stopped = scene.drain("stopped", ask)
    assert (stopped.problem.code, stopped.batches) == ("STOPPED", stopped.recovered)
    assert stopped.recovered[0] == 0
    assert stopped.waiting > 0
    judged = {
        check.column: check.outcome for check in stopped.checks if check.severity == "critical"
    }
    assert judged["unaccounted"] == "passed"
    assert stopped.failing("critical") == ()
    scene.run("next")
    scene.assert_exact()


def test_what_is_wrong_with_the_account_of_a_run_that_was_stopped_is_said_all_the_same(
    kafka, spark, tmp_path, monkeypatch
):
    scene = Scene(
        kafka,
        tmp_path,
        "flight_events",
        events=800,
        deliveries=1,
        stores=1,
        max_offsets_per_batch=300,
    )
    scene.deliver_all()
    monkeypatch.setattr("spark_jobs.runs.account.audit.balance", unbalanced)

    def ask(line: str):
        if "batch 0:" in line:
            signal.raise_signal(signal.SIGTERM)

    stopped = scene.drain("stopped", ask)
    assert (stopped.problem.code, stopped.bounded_by) == ("CHECK_FAILED", "SIGTERM or Ctrl-C")


def unbalanced(*facts):
    """An account that leaves one record unexplained."""
    from spark_jobs.audit.balance import balance  # noqa: PLC0415 - the real one

    return balance(*facts).model_copy(update={"unaccounted": 1})
