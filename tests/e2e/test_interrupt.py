"""Ctrl-C on `sluice drain` in a terminal: the batch at work ends, and the next drain goes on."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spark_jobs.errors import Stopped
from spark_jobs.launch.processes import kill_tree
from spark_jobs.messages.report import read_report
from tests.harness.patience import patient
from tests.harness.pipelines import variables_of
from tests.harness.process import PIPELINES
from tests.harness.scene import Scene
from tests.harness.session import surroundings
from tests.harness.turns import alike

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a drain as a process"),
]
PATIENCE_SECONDS = patient(180)

SLUICE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from "
    "spark_jobs.cli import app; app()"
)
"""As in a terminal: what a shell starts in the background ignores SIGINT, as its children do."""


@pytest.fixture(autouse=True)
def pipelines(kafka):
    with surroundings(kafka) as patch:
        patch.setenv("SLUICE_PIPELINES", PIPELINES)
        yield


@contextlib.contextmanager
def in_a_terminal(
    scene: Scene, folder: Path, *words: str, failpoints: str
) -> Iterator[subprocess.Popen[str]]:
    """The command at work; what it says goes into the folder's `said`."""
    waiting = folder / "waiting"
    waiting.mkdir()
    env = {
        **os.environ,
        **scene.settings.environment(),
        **variables_of(scene.spec),
        "SLUICE_FAILPOINTS": failpoints,
        "SLUICE_FAILPOINTS_WAITING": str(waiting),
    }
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", SLUICE, *words], env=env, stdout=said, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        kill_tree(process.pid)
        process.wait()


def wait(process: subprocess.Popen[str], moment: Callable[[], bool], what: str) -> None:
    """Until the moment has come, in a process that lives."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert process.poll() is None, f"the drain ended before {what}"
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(0.02)


def test_ctrl_c_lets_the_batch_end_and_tells_so_and_the_next_drain_goes_on(kafka, spark, tmp_path):
    scene = Scene(kafka, tmp_path, "flight_events", events=1500, deliveries=1, stores=1)
    scene.deliver_all()
    words = ("drain", "flight_events", "--report", str(tmp_path / "stopped"))
    said = tmp_path / "said"
    held = tmp_path / "waiting" / "planned"
    with in_a_terminal(scene, tmp_path, *words, failpoints="planned=wait") as process:
        wait(process, held.exists, "batch 0 was planned")
        process.send_signal(signal.SIGINT)
        wait(
            process,
            lambda: "stopping when the batch at work has ended" in said.read_text(),
            "Ctrl-C was answered",
        )
        held.unlink()
        assert process.wait(PATIENCE_SECONDS) == Stopped.exit_status, said.read_text()
    assert "STOPPED" in said.read_text()
    assert "\tat " not in said.read_text(), "a stack trace"
    assert "Traceback" not in said.read_text()
    assert read_report(tmp_path / "stopped").batches == (0,)

    scene.run("next")
    scene.assert_exact()
