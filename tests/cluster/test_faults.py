"""What a cluster loses amid a batch: the run goes on, the table is exact, and the account says the truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from local.cluster import Cluster, wait_until
from tests.harness.process import Running
from tests.harness.scene import Scene

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
PARTITIONS = 4


@pytest.fixture
def scene(kafka: str, tmp_path: Path) -> Scene:
    """State in Python, which takes its worker a while to begin with: what is struck then has read, and has not ended."""
    made = Scene(kafka, tmp_path, "aircraft_rotations", events=3000, deliveries=1)
    made.deliver_all()
    return made


def struck(scene: Scene, cluster: Cluster, folder: Path, strike: Callable[[], None]) -> Running:
    """A drain that is struck when all tasks have read their part of Kafka, and none has written to the table."""
    running = Running(scene, folder, "struck", "planned=wait")
    running.hold("planned")
    wait_until(lambda: len(cluster.executors()) == len(cluster.workers), "the executors")
    before = cluster.map_outputs()
    running.let_go("planned")
    running.wait_for(lambda: PARTITIONS in (cluster.map_outputs() - before).values(), "what all tasks have read")
    strike()
    return running


def ended_exact(running: Running, scene: Scene) -> None:
    """It ended well, and table and account are right."""
    assert running.end() == 0, running.said
    assert running.report is not None
    assert running.report.account.read == scene.ledger.num_rows
    scene.assert_exact()


def was_counted_again(scene: Scene) -> bool:
    """Whether a batch's account is by Kafka, since Spark's counts were not to be believed."""
    return "reread" in {row["source"] for row in scene.ops("batches", "source")}


def test_an_executor_killed_amid_a_batch_doubles_nothing_in_table_or_account(
        scene: Scene, cluster: Cluster, tmp_path: Path) -> None:
    running = struck(scene, cluster, tmp_path, cluster.lose_executor)
    ended_exact(running, scene)
    assert was_counted_again(scene), "no stage ran twice: the test has missed its moment"
    assert "the account is read from Kafka" in running.said


def test_a_worker_that_is_lost_amid_a_batch_leaves_a_run_that_goes_on_without_it(
        scene: Scene, cluster: Cluster, tmp_path: Path) -> None:
    try:
        running = struck(scene, cluster, tmp_path, cluster.lose_worker)
        ended_exact(running, scene)
        assert was_counted_again(scene), "no stage ran twice: the test has missed its moment"
    finally:
        cluster.add_worker()


def test_a_driver_that_is_killed_ends_its_application_and_the_next_run_makes_everything_right(
        scene: Scene, cluster: Cluster, tmp_path: Path) -> None:
    running = Running(scene, tmp_path, "killed", "planned=wait")
    running.hold("planned")
    assert len(cluster.applications()) == 1
    running.kill()
    running.end()
    wait_until(lambda: not cluster.applications(), "the application's end at the master")
    wait_until(lambda: not cluster.executors(), "the executors' end")
    ended_exact(Running(scene, tmp_path, "next"), scene)
