"""The whole way: a real Airflow runs a DAG, which drains a real Kafka through Spark into Delta and tells the world."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local import airflow
from local.airflow_api import Api
from spark_jobs.contract.report import read_report
from tests.harness.scene import Scene

PIPELINE = "departure_delays"


@pytest.fixture
def api(kafka: str, tmp_path: Path) -> Iterator[Api]:
    """An Airflow whose tasks see this test's Kafka and root."""
    home = tmp_path / "airflow"
    try:
        running = airflow.start(home, {"SLUICE_KAFKA": kafka, "SLUICE_ROOT": str(tmp_path / "root")}, schedule=False)
        with Api(running) as client:
            client.await_dags({PIPELINE})
            yield client
    finally:
        airflow.stop(home)


def run(api: Api, run_id: str) -> dict[str, str | None]:
    """Trigger the DAG, wait for its end, and give the tasks' states."""
    api.trigger(PIPELINE, run_id)
    lines: list[str] = []
    states = api.wait(run_id, [PIPELINE], lines.append, seconds=300)
    assert states == {PIPELINE: "success"}, "\n".join([*lines, *api.errors(PIPELINE, run_id)])
    return api.tasks(PIPELINE, run_id)


def test_a_dag_run_drains_judges_and_publishes_and_one_with_nothing_to_do_skips(kafka, tmp_path, api):
    scene = Scene(kafka, tmp_path, PIPELINE, events=2000, deliveries=1, topic="flights")
    counts = scene.deliver()

    assert set(run(api, "first").values()) == {"success"}

    scene.assert_exact()
    [path] = (tmp_path / "root" / "reports" / PIPELINE).glob("first-*.json")
    report = read_report(path)
    assert report.account.read == sum(counts.values())
    [event] = api.asset_events()
    assert event["extra"]["table_version"] == report.table_version
    assert event["extra"]["account"]["rows_out"] == len(scene.table())
    assert event["extra"]["account"]["unaccounted"] == 0

    states = run(api, "second")

    assert states.pop("plan") == "success"
    assert set(states.values()) == {"skipped"}, "with nothing new, no JVM is started"
    assert len(api.asset_events()) == 1, "and nothing is published again"
