"""What a cluster does not give: the run ends in words within its time, and not in silence."""

from pathlib import Path

import pytest
from pyspark import SparkContext

from local.cluster import running
from spark_jobs.errors import ClusterUnreachable, NoExecutors
from tests.harness.long_form import LONG, long_form
from tests.harness.process import Running
from tests.harness.refused import because, has
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a run on a cluster"),
]
WAIT_SECONDS = "12"
"""Long enough for one line about what is waited for."""


@pytest.fixture
def scene(kafka, tmp_path) -> Scene:
    made = Scene(kafka, tmp_path, "flight_events", events=600, deliveries=1, stores=1, root="root")
    made.deliver_all()
    made.settings = made.settings._replace(executor_wait=WAIT_SECONDS)
    return made


def refused(scene: Scene, folder: Path, run_id: str, code: str) -> Running:
    """A drain that ends with that code, and one line for it."""
    drain = Running(scene, folder, run_id)
    assert drain.end() != 0
    assert drain.report is not None, drain.said
    assert drain.report.problem.code == code, drain.report.problem
    assert "Traceback" not in drain.said
    return drain


@long_form
def test_a_run_that_asks_for_more_than_a_worker_has_says_so_and_ends(scene, tmp_path):
    scene.settings = scene.settings._replace(spark_conf="spark.executor.memory=64g")
    drain = refused(scene, tmp_path, "greedy", "NO_EXECUTORS")
    assert "waits for a first executor" in drain.said
    because(drain.report.problem, NoExecutors, "none_came", size=has("64g of memory"))


def test_a_master_that_is_not_there_is_told_before_spark_starts(scene):
    """In this process, in which nothing starts a session."""
    before = SparkContext._active_spark_context  # noqa: SLF001 - it has no other form
    scene.settings = scene.settings._replace(master="spark://127.0.0.1:1")
    failures = has("127.0.0.1:1: Connection refused")
    because(scene.drain("nobody").problem, ClusterUnreachable, "no_master", failures=failures)
    assert SparkContext._active_spark_context is before  # noqa: SLF001


def test_a_run_without_the_clusters_secret_ends_in_words(scene, tmp_path):
    with running(tmp_path / "spark", workers=0, secret="canary-5f1c9ad2") as secured:
        scene.settings = scene.settings._replace(master=secured.master)
        without = refused(scene, tmp_path, "without", "CLUSTER_UNREACHABLE").report
        assert "SLUICE_SPARK_SECRET_FILE" in without.problem.parameters["remedy"]
        if LONG:  # the code is the same, and tests/unit/test_cluster.py has the remedy
            (file := tmp_path / "secret").touch(mode=0o600)
            file.write_text("another")
            scene.settings = scene.settings._replace(spark_secret_file=str(file))
            wrong = refused(scene, tmp_path, "wrong", "CLUSTER_UNREACHABLE").report
            assert str(file) in wrong.problem.parameters["remedy"]
