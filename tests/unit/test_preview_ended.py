"""A preview whose process is told to end: its folder, which has values of records, goes."""

import os
import signal
import subprocess
import sys
import time

import psutil

from spark_jobs.settings.installation import REPO

STARTING = """
import sys
from spark_jobs.draft.sample import Sampled
from spark_jobs.launch.warm import client
from spark_jobs.proof import start
from spark_jobs.settings.installation import Settings

client.command = lambda *_: [sys.executable, "-c", sys.argv[1]]
start.ask("orders", Settings.from_environment(), [Sampled(0, 0, 0, None, b"secret")])
"""
AT_WORK = """
import os, subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(os.environ["TMPDIR"] + "/began", "w").write(str(below.pid))
time.sleep(60)
"""


def test_sigterm_ends_a_preview_and_removes_its_folder(tmp_path):
    variables = {**os.environ, "TMPDIR": str(tmp_path), "SLUICE_KAFKA": "a:1", "SLUICE_WARM": "off"}
    variables |= {"SLUICE_ROOT": str(tmp_path / "root")}
    began = tmp_path / "began"
    started = subprocess.Popen(
        [sys.executable, "-c", STARTING, AT_WORK], env=variables, cwd=REPO, text=True
    )
    until = time.monotonic() + 60
    while not (began.exists() and began.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    assert [*tmp_path.glob("sluice-*/sample.jsonl")]
    started.send_signal(signal.SIGTERM)
    assert started.wait(30) == 128 + signal.SIGTERM
    assert [*tmp_path.glob("sluice-*")] == [*tmp_path.glob("sluice-scratch-*")]
    assert [*tmp_path.glob("sluice-*/*")] == []
    below = int(began.read_text())
    assert not psutil.pid_exists(below) or psutil.Process(below).status() == psutil.STATUS_ZOMBIE
