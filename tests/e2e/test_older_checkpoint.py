"""Checkpoints of an older commit of Sluice: this one resumes them, and the older one its own."""

import io
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spark_jobs.settings.installation import REPO
from tests.harness.broker import forget_topic
from tests.harness.long_form import long_form
from tests.harness.patience import patient
from tests.harness.ran import python
from tests.harness.scene import Scene

OLDER = "fe62465"
"""Before packages, typed outcomes and operators of steps: all that stores state has moved since."""
BEFORE = "0d743f6"
"""The first commit that bears ops tables with more columns than it knows: the release before."""
PIPELINES = ("flight_events", "departure_delays", "aircraft_rotations")
SLUICE = "from spark_jobs.cli import app; app()"
PATIENCE_SECONDS = patient(240)

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads


@pytest.fixture
def at_commit(tmp_path) -> Callable[[str], Path]:
    """The files of a commit."""

    def unpacked(commit: str) -> Path:
        packed = subprocess.run(
            ["git", "archive", commit], cwd=REPO, capture_output=True, check=False
        )
        if packed.returncode:
            pytest.skip(
                f"commit {commit} is not in this clone: not tested is that checkpoints are "
                "resumed across versions"
            )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
            files.extractall(tmp_path / commit, filter="data")
        return tmp_path / commit

    return unpacked


@pytest.fixture
def scenes(kafka, spark, tmp_path) -> Iterator[list[Scene]]:
    """Three pipelines of one topic, over one root. The topic goes with the test."""
    first = Scene(kafka, tmp_path, PIPELINES[0], events=2000, deliveries=3, topic="flights")
    yield [
        first,
        *(Scene(kafka, tmp_path, name, events=0, topic="flights") for name in PIPELINES[1:]),
    ]
    forget_topic(kafka, "flights")


@long_form
def test_a_checkpoint_of_an_older_commit_is_resumed_and_every_table_is_exact(scenes, at_commit):
    older = at_commit(OLDER)
    scenes[0].deliver()
    for scene in scenes:
        _drain_by(older, scene)
        scene.assert_exact()
    scenes[0].deliver_all()
    for scene in scenes:
        _resumed(scene, scenes[0])


@long_form
def test_the_release_before_resumes_what_this_one_wrote_and_this_one_what_that_wrote(
    scenes, at_commit
):
    before = at_commit(BEFORE)
    scenes[0].deliver()
    for scene in scenes:
        scene.run("new")
    scenes[0].deliver()
    for scene in scenes:
        _drain_by(before, scene)
        scene.assert_exact()
    scenes[0].deliver()
    for scene in scenes:
        _resumed(scene, scenes[0])


def _resumed(scene: Scene, whole: Scene) -> None:
    report = scene.run("resumed")
    assert report.account.read < whole.ledger.num_rows, "it has read on, and not anew"
    assert min(report.batches) > 0
    scene.assert_exact()


def _drain_by(code: Path, scene: Scene) -> None:
    """A drain as that code's command line does it."""
    env = os.environ | scene.settings.environment()
    env |= {"SLUICE_JARS": str(REPO / "jars" / "spark")}
    env |= {"PYTHONPATH": f"{code}:{code / 'plugins'}"}
    how = {"cwd": code, "env": env, "check": False, "timeout": PATIENCE_SECONDS}
    drained = python(SLUICE, "drain", scene.spec.name, **how)
    assert drained.returncode == 0, drained.stdout + drained.stderr
