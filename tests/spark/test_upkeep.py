"""State after many short runs: no more files than the kept batches need, and none missing."""

import runpy
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint import purge
from spark_jobs.checkpoint.log import Checkpoint, versions
from spark_jobs.launch import session
from spark_jobs.messages import job
from spark_jobs.spec import State
from spark_jobs.storage import failpoint
from tests.harness.long_form import long_form
from tests.harness.scene import Scene
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_purge.py")

RETAINED = 2
SLACK = 2
DELTAS = 4
"""Over a snapshot of the HDFS-backed store, before Spark writes another."""


@pytest.fixture(autouse=True)
def little_is_retained(monkeypatch):
    dynamic = session.dynamic
    few = {
        "spark.sql.streaming.minBatchesToRetain": str(RETAINED),
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": str(DELTAS),
    }
    monkeypatch.setattr(session, "dynamic", lambda state: dynamic(state) | few)
    monkeypatch.setattr(purge.purge, "__defaults__", (SLACK,))


def stores(scene: Scene) -> list[Path]:
    state = Path(str(scene.paths.checkpoint / "state"))
    return [path for path in state.glob("*/*") if path.name.isdigit()]


@pytest.mark.parametrize(
    ("provider", "runs"), [("rocksdb", 4), pytest.param("hdfs", 6, marks=long_form)]
)
def test_after_many_short_runs_state_holds_what_the_kept_batches_need(scene, provider, runs):
    """Each run has two batches: more in all than may stay."""
    made = scene(
        "departure_delays",
        events=runs * 100,
        deliveries=runs,
        state=State(provider=provider, shuffle_partitions=1),
    )
    counted = []
    for number in range(runs):
        made.deliver()
        made.run(f"run-{number}")
        counted.append([len(versions(store)) for store in stores(made)])
    most = RETAINED + SLACK + 2 + (DELTAS if provider == "hdfs" else 0)
    assert made.ops("batches", "max(batch_id) AS newest")[0]["newest"] + 1 > most
    assert max(map(max, counted)) <= most, counted
    made.assert_exact()
    lines, fix = doctor(made.spec, made.settings)
    assert fix is None, lines

    batch = Checkpoint(made.paths.checkpoint).committed()[-2]
    rewind(made.spec, made.settings, batch).execute()
    assert {max(versions(store)) for store in stores(made)} == {batch + 1}, "an abandoned timeline"
    made.run("after the rewind")
    made.assert_exact()


def test_runs_that_commit_and_then_fail_keep_no_more(scene, monkeypatch):
    made = scene("departure_delays", events=400, deliveries=4, stores=1)
    monkeypatch.setitem(failpoint.ACTIVE, "checks", "raise")
    counted = []
    for number in range(4):
        made.deliver()
        assert made.drain(f"fails-{number}").problem is not None
        counted.append([len(versions(store)) for store in stores(made)])
    most = RETAINED + SLACK + 2
    assert len(Checkpoint(made.paths.checkpoint).planned()) > 0
    assert max(versions(stores(made)[0])) > most
    assert max(map(max, counted)) <= most, counted
    monkeypatch.delitem(failpoint.ACTIVE, "checks")
    made.run("well again")
    made.assert_exact()


def test_a_process_closes_its_stores_at_its_end_however_it_ends(scene, monkeypatch):
    """A thread of RocksDB would end it by a signal."""

    def refused(_: list[str]) -> NoReturn:
        raise SystemExit(3)

    monkeypatch.setattr(job, "read", refused)
    stores = session.state_stores(SparkSession.active())
    made = scene("departure_delays", events=300, deliveries=2, stores=1)
    made.deliver()
    made.run()
    assert stores.isMaintenanceRunning()
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("spark_jobs.main", run_name="__main__")
    assert (ended.value.code, stores.isMaintenanceRunning()) == (3, False)
    made.deliver()
    made.run("opens them again")
    made.assert_exact()
