"""An Airflow with two drained pipelines, one that published and one whose check failed, and a third
with 60 runs: what the tests of this folder look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from local import airflow
from local.airflow_api import Api
from spark_jobs.contract import registry
from tests.browser import written
from tests.e2e import pipelines
from tests.e2e.pipelines.impossible_delays.spec import SPEC as IMPOSSIBLE
from tests.harness.scene import Scene

PIPELINE, REFUSED, GROWS = "departure_delays", IMPOSSIBLE.name, written.NAME
RUN = "third"
"""The DAG run that has drained the last delivery."""
REFUSED_RUN = "by-hand-try1"
EVENTS = 6000
PATIENCE_SECONDS = 300


class Installed(NamedTuple):
    """Where Airflow is, and what its pipelines have written."""

    airflow: airflow.Airflow
    api: Api
    root: Path
    scene: Scene


@contextmanager
def installation(kafka: str, folder: Path) -> Iterator[Installed]:
    """Drains of three deliveries of flights, of which Airflow does the last."""
    home, root = folder / "airflow", folder / "root"
    variables = {
        "SLUICE_KAFKA": kafka,
        "SLUICE_ROOT": str(root),
        "SLUICE_PIPELINES": pipelines.__name__,
    }
    # Airflow calls the pipeline by its name, and so the checks are those of its spec.
    scene = Scene(
        kafka, folder, registry.load(PIPELINE), events=EVENTS, topic="flights", checked=True
    )
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(airflow.start, home, variables, schedule=False)
        try:
            for number in (1, 2):
                scene.deliver()
                scene.run(f"delivery-{number}-try1")
            refused = Scene(kafka, folder, IMPOSSIBLE, topic="flights", checked=True)
            assert refused.drain(REFUSED_RUN).status == "failed"
            written.write(root)
            scene.deliver()
            running = starting.result()
            with Api(running) as api:
                api.await_dags({PIPELINE, REFUSED, GROWS, f"{PIPELINE}__backfill"})
                api.trigger(PIPELINE, RUN)
                states = api.wait(RUN, [PIPELINE], list[str]().append, seconds=PATIENCE_SECONDS)
                assert states == {PIPELINE: "success"}, api.errors(PIPELINE, RUN)
                yield Installed(running, api, root, scene)
        finally:
            starting.exception()
            airflow.stop(home)
