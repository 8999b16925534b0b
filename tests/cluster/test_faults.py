"""What a cluster loses amid a batch: the run goes on, and the account says the truth."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local.cluster import Cluster, running as started, wait_until
from spark_jobs.settings.installation import REPO
from tests.harness.long_form import long_form
from tests.harness.process import Running
from tests.harness.ran import ran
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a run on a cluster"),
]
PARTITIONS = 4
SECRET = "canary-5f1c9ad2"
TRIES = 3
AT_ONCE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.minTaskRuntime": "1ms",
}
"""A task that takes a little longer than another is started a second time on a free core."""


@pytest.fixture(autouse=True)
def jars_of_their_own(on_it, monkeypatch):
    """The workers have the jars and the archive; test_tables is without."""
    monkeypatch.setenv("SLUICE_EXECUTOR_JARS", str(REPO / "jars" / "spark"))


@pytest.fixture
def scene(kafka, tmp_path) -> Scene:
    """State in Python, whose worker begins slowly: what is struck has read and not ended."""
    return Scene(
        kafka,
        tmp_path,
        "aircraft_rotations",
        events=TRIES * 1500,
        deliveries=TRIES,
        checked=True,
        stores=1,
        root="root",  # on a cluster an odd one is refused
    )


def struck(
    scene: Scene, cluster: Cluster, folder: Path, run_id: str, strike: Callable[[], None]
) -> Running:
    """A drain that is struck when all tasks have read, and none has written to the table."""
    running = Running(scene, folder, run_id, "planned=wait")
    running.hold("planned")
    wait_until(lambda: len(cluster.executors()) == len(cluster.workers), "the executors")
    assert all(
        "SharedArchiveFile" in " ".join(executor.cmdline()) for executor in cluster.executors()
    )
    before = cluster.map_outputs()
    running.let_go("planned")
    running.wait_for(
        lambda: PARTITIONS in (cluster.map_outputs() - before).values(), "what all tasks have read"
    )
    strike()
    return running


def ended_exact(running: Running, scene: Scene, sent: int) -> None:
    """It ended well, read what was sent, and table and account are right."""
    assert running.end() == 0, running.said
    assert running.report.account.read == sent
    assert {check.suite for check in running.report.checks} >= {"output"}
    scene.assert_exact()


def survives(
    scene: Scene,
    cluster: Cluster,
    folder: Path,
    strike: Callable[[], None],
    mend: Callable[[], None],
) -> None:
    """Drains that are struck until one ran a stage twice: what is lost may be of no use."""
    for number in range(TRIES):
        sent = sum(scene.deliver().values())
        try:
            running = struck(scene, cluster, folder, f"struck-{number}", strike)
            ended_exact(running, scene, sent)
        finally:
            mend()
        if "reread" in {row["source"] for row in scene.ops("batches", "source")}:
            assert "the account is read from Kafka" in running.said
            return
    pytest.fail(f"no stage ran twice: the test has missed its moment {TRIES} times")


def test_an_executor_killed_amid_a_batch_doubles_neither_row_nor_account(scene, cluster, tmp_path):
    survives(scene, cluster, tmp_path, cluster.lose_executor, lambda: None)


@long_form
def test_a_worker_lost_amid_a_batch_leaves_a_run_that_goes_on_without_it(scene, cluster, tmp_path):
    survives(scene, cluster, tmp_path, cluster.lose_worker, cluster.add_worker)


def files(*folders: Path) -> list[Path]:
    """All that lies under them."""
    return [file for folder in folders for file in folder.rglob("*") if file.is_file()]


@long_form
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="speculation takes another host, and 127.0.0.2 is one on Linux alone",
)
def test_a_slow_task_that_spark_starts_twice_counts_once_and_no_secret_shows(scene, tmp_path):
    """Whichever ends first; the event log says that there were two, and shows no secret."""
    (log := tmp_path / "events").mkdir()
    (file := tmp_path / "secret").touch(mode=0o600)
    file.write_text(SECRET + "\n")
    options = {
        **AT_ONCE,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": log.as_uri(),
    }
    with started(tmp_path / "spark", workers=1, secret=SECRET) as spread:
        spread.add_worker(host="127.0.0.2")
        scene.settings = scene.settings._replace(
            master=spread.master,
            spark_secret_file=str(file),
            spark_conf=" ".join(f"{name}={value}" for name, value in options.items()),
        )
        for number in range(TRIES):
            sent = sum(scene.deliver().values())
            drain = Running(scene, tmp_path, f"speculating-{number}", "planned=wait")
            drain.hold("planned")
            listed = ran("ps", "-eww", "-o", "args", check=True).stdout
            drain.let_go("planned")
            ended_exact(drain, scene, sent)
            kept = {file: file.read_bytes() for file in files(log, tmp_path / "root")}
            said = listed + drain.said + drain.report.model_dump_json() + spread.logs()
            assert SECRET not in said
            assert [file for file, content in kept.items() if SECRET.encode() in content] == []
            if any(b'"Speculative":true' in kept[file] for file in files(log)):
                return
    pytest.fail(f"Spark started no task twice in {TRIES} runs")


@long_form
def test_a_driver_that_is_killed_ends_its_application_and_the_next_run_makes_everything_right(
    scene, cluster, tmp_path
):
    sent = sum(scene.deliver().values())
    running = Running(scene, tmp_path, "killed", "planned=wait")
    running.hold("planned")
    assert len(cluster.applications()) == 1
    running.kill()
    running.end()
    wait_until(lambda: not cluster.applications(), "the application's end at the master")
    wait_until(lambda: not cluster.executors(), "the executors' end")
    ended_exact(Running(scene, tmp_path, "next"), scene, sent)
