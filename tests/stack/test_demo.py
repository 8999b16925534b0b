"""`make stack-demo`, and what a kill or restart amid a drain leaves, against the ledger."""

import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.registry import find as registry
from tests.harness.patience import patient
from tests.harness.stack import Stack
from tests.harness.verifier import Verifier

MONTHS, DELIVERIES = "1", "6"
KILLED = {
    "3": ("airflow-scheduler", "spark-worker"),
    "4": ("kafka", "store", "postgres", "spark-master", "airflow-api"),
}
"""By the delivery drained meanwhile: what the stack runs beside the dag-processor."""
AT_WORK = """
import psutil
from spark_jobs.launch import submit
found = [process.info["cmdline"] or [""] for process in psutil.process_iter(["cmdline"])]
print(sum("python" in words[0] and submit.application() in words for words in found))
"""
PATIENCE_SECONDS = patient(600)


def _demo(stack: Stack, *words: str) -> str:
    return stack.compose(
        "run",
        "--rm",
        "producer",
        "python",
        "-m",
        "local.stack.demo",
        "--months",
        MONTHS,
        "--deliveries",
        DELIVERIES,
        *words,
    ).stdout


def _verified(stack: Stack, folder: Path) -> None:
    """Every pipeline's table, late and bad records and account, from copies of the root."""
    root = stack.copy("store", "/data/store/buckets/sluice/root", folder / "root")
    ledger = folder / "ledger"
    subprocess.run(
        f"docker run --rm --network none --user 0 --volume sluice-tests_ledger:/from:ro "
        f"--volume {folder}:/to sluice:local cp -r /from /to/ledger".split(),
        check=True,
    )
    for spec in registry.load_all():
        verdict = Verifier(root, ledger, spec.name, spec.watermark_delay).verdict()
        assert verdict.told == (), spec.name
        assert (verdict.lost, verdict.doubled, verdict.unaccounted) == (0, 0, 0), spec.name


def _trigger(stack: Stack, run_id: str) -> None:
    with stack.airflow() as api:
        for name in registry.names():
            api.trigger(name, run_id)


def _wait(stack: Stack, run_id: str) -> None:
    said: list[str] = []
    with stack.airflow() as api:
        states = api.wait(run_id, registry.names(), said.append)
    assert set(states.values()) == {"success"}, (states, said)


def _until_a_drain_works(stack: Stack) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while stack.python("airflow-scheduler", AT_WORK).strip() == "0":
        assert time.monotonic() < deadline, "no drain began"


def test_the_demo_ends_with_the_ledgers_sign(stack, tmp_path):
    said = _demo(stack, "--last", "2")
    assert "✓ The ledger of what was published agrees" in said
    _verified(stack, tmp_path)


@pytest.mark.parametrize(
    ("delivery", "what"), [*((delivery, "kill") for delivery in KILLED), ("5", "restart")]
)
def test_containers_that_go_amid_a_drain_leave_nothing_lost_or_doubled(
    stack, tmp_path, delivery, what
):
    _demo(stack, "--publish-only", "--first", delivery, "--last", delivery)
    run_id = f"{what}-{delivery}-{datetime.now(UTC):%H%M%S}"
    _trigger(stack, run_id)
    _until_a_drain_works(stack)
    if what == "kill":
        stack.compose("kill", "--signal", "KILL", *KILLED[delivery])
    else:
        stack.compose("restart")
    stack.up()
    _wait(stack, run_id)
    _verified(stack, tmp_path)


def test_a_stop_asks_the_drains_at_work_and_they_go_on_after_it(stack, tmp_path):
    _demo(stack, "--publish-only", "--first", DELIVERIES, "--last", DELIVERIES)
    run_id = f"stop-{datetime.now(UTC):%H%M%S}"
    _trigger(stack, run_id)
    _until_a_drain_works(stack)
    began = time.monotonic()
    stack.compose("stop", "airflow-scheduler")
    assert time.monotonic() - began < 115, "it was killed at the end of its grace"
    status = {
        one["Config"]["Labels"]["com.docker.compose.service"]: one["State"]["ExitCode"]
        for one in stack.containers()
    }
    assert status["airflow-scheduler"] == 0
    stack.up()
    _wait(stack, run_id)
    # By Airflow's own logs: without the wrapper's question the drain would have ended by itself,
    # and nothing would say STOPPED.
    logs = stack.compose(
        "exec", "-T", "airflow-scheduler", "grep", "-rl", "STOPPED", "/data/logs"
    ).stdout
    assert f"run_id={run_id}/task_id=drain" in logs
    _verified(stack, tmp_path)
