"""A real Airflow whose drain tasks share a worker."""

import psutil
import pytest

from local.airflow_api import Api
from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.warm.fits import shown
from spark_jobs.launch.warm.place import log_path, socket_path
from tests.e2e import pipelines
from tests.e2e.test_airflow_run import EVENTS, PATIENCE_SECONDS, PIPELINE
from tests.harness.airflow_server import served
from tests.harness.long_form import long_form
from tests.harness.roots import ROOT
from tests.harness.scene import Scene

pytestmark = pytest.mark.filterwarnings("default")


@long_form
def test_the_drain_of_the_next_dag_run_finds_the_worker_of_the_first(kafka, tmp_path):
    home, root = tmp_path / "airflow", tmp_path / ROOT
    scene = Scene(kafka, tmp_path, PIPELINE, events=EVENTS, deliveries=2, topic="flights")
    variables = {
        "SLUICE_KAFKA": kafka,
        "SLUICE_ROOT": str(root),
        "SLUICE_PIPELINES": pipelines.__name__,
        "SLUICE_WARM": "on",
    }
    socket, seen = socket_path(str(root)), list[str]()
    try:
        with served(home, variables) as running, Api(running) as api:
            api.await_dags({PIPELINE})
            for run_id in ("first", "second"):
                scene.deliver()
                api.trigger(PIPELINE, run_id)
                states = api.wait(run_id, [PIPELINE], seen.append, seconds=PATIENCE_SECONDS)
                errors = api.errors(PIPELINE, run_id)
                assert states == {PIPELINE: "success"}, "\n".join([*seen, *errors])
            worker = shown(socket)
            assert worker is not None, log_path(socket).read_text()
            assert worker.drains == 2, log_path(socket).read_text()
            assert not log_path(socket).with_suffix(".log.before").exists(), "one worker did both"
            scene.assert_exact()
    finally:
        if (left := shown(socket)) is not None and psutil.pid_exists(left.process):
            kill_tree(left.process)
