"""Checkpoints that an older commit of Sluice wrote: this one resumes them, and every table is
exact.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from spark_jobs.contract.settings import REPO
from tests.harness.long_form import long_form
from tests.harness.scene import Scene

OLDER = "fe62465"
"""Before the packages, the typed outcome of a run and the operators of steps: everything that
stores state has moved since.
"""
PIPELINES = ("flight_events", "departure_delays", "aircraft_rotations")
SLUICE = "from spark_jobs.cli import app; app()"
PATIENCE_SECONDS = 240

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The files of that commit."""
    packed = subprocess.run(["git", "archive", OLDER], cwd=REPO, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(
            f"commit {OLDER} is not in this clone: not tested is that its checkpoints are resumed"
        )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(tmp_path / "older", filter="data")
    return tmp_path / "older"


@long_form
def test_a_checkpoint_of_an_older_commit_is_resumed_and_every_table_is_exact(
    kafka, spark, tmp_path, older
):
    first = Scene(kafka, tmp_path, PIPELINES[0], events=2000, deliveries=2, topic="flights")
    scenes = [
        first,
        *(Scene(kafka, tmp_path, name, events=0, topic="flights") for name in PIPELINES[1:]),
    ]
    first.deliver()
    env = {
        **os.environ,
        **first.settings.environment(),
        "SLUICE_JARS": str(REPO / "jars" / "spark"),
        "PYTHONPATH": f"{older}:{older / 'plugins'}",
    }
    for scene in scenes:
        drained = subprocess.run(
            [sys.executable, "-c", SLUICE, "drain", scene.spec.name],
            cwd=older,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert drained.returncode == 0, drained.stdout + drained.stderr
        scene.assert_exact()
    first.deliver()
    for scene in scenes:
        report = scene.run("resumed")
        assert report.account.read < first.ledger.num_rows, "it has read on, and not anew"
        assert min(report.batches) > 0
        scene.assert_exact()
