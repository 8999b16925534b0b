"""Ctrl-C on `sluice drain` in a terminal: the batch at work ends, and the next drain goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from spark_jobs.contract.errors import Stopped
from spark_jobs.contract.report import read_report
from tests.harness.scene import Scene

PATIENCE_SECONDS = 180

SLUICE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from spark_jobs.cli import app; app()"
"""As in a terminal: what a shell starts in the background, these tests for example, ignores SIGINT, and so do its children."""


def test_ctrl_c_lets_the_batch_end_and_tells_so_and_the_next_drain_goes_on(kafka, tmp_path):
    scene = Scene(kafka, tmp_path, "departure_delays", events=3000, deliveries=1, topic="flights")
    scene.deliver_all()

    def drain(name: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", SLUICE, "drain", "departure_delays", "--report", str(tmp_path / name)]
        return subprocess.Popen(words, env={**os.environ, **scene.settings.environment()}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    with drain("stopped") as process:
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

    with drain("next") as process:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said
    scene.assert_exact()
