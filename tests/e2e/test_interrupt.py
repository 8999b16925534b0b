"""Ctrl-C on `sluice drain` in a terminal: the batch at work ends, and the next drain goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from spark_jobs.contract.errors import Stopped
from spark_jobs.contract.report import read_report
from tests.harness.process import PIPELINES
from tests.harness.scene import Scene
from tests.harness.session import surroundings

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
PATIENCE_SECONDS = 180

SLUICE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from spark_jobs.cli import app; app()"
"""As in a terminal: what a shell starts in the background, these tests for example, ignores SIGINT, and so do its children."""


@pytest.fixture(autouse=True)
def pipelines(kafka):
    with surroundings(kafka) as patch:
        patch.setenv("SLUICE_PIPELINES", PIPELINES)
        yield


def test_ctrl_c_lets_the_batch_end_and_tells_so_and_the_next_drain_goes_on(kafka, spark, tmp_path):
    scene = Scene(kafka, tmp_path, "departure_delays", events=3000, deliveries=1)
    scene.deliver_all()
    words = [sys.executable, "-c", SLUICE, "drain", "departure_delays", "--report", str(tmp_path / "stopped")]
    env = {**os.environ, **scene.settings.environment(), "SLUICE_TEST_TOPIC": scene.topic}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(scene.paths.checkpoint.glob("state/*/*/*.zip")):  # the first store of batch 0 has been written
            assert process.poll() is None, "the drain ended before it could be interrupted"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == Stopped.exit_status, said
    assert "stopping when the batch at work has ended" in said
    assert "STOPPED" in said
    assert "\tat " not in said, "a stack trace"
    assert "Traceback" not in said
    assert read_report(tmp_path / "stopped").batches == (0,)

    scene.run("next")
    scene.assert_exact()
