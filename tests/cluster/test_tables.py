"""A pipeline on a cluster whose workers have nothing of Sluice: all goes with the run."""

import pytest

from tests.harness.long_form import long_form
from tests.harness.process import Running
from tests.harness.scene import Scene

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads


@long_form
def test_a_pipelines_table_is_the_oracles_on_workers_that_have_nothing_of_it(kafka, tmp_path):
    scene = Scene(
        kafka, tmp_path, "departure_delays", events=3000, deliveries=1, checked=True, root="root"
    )
    scene.deliver_all()
    running = Running(scene, tmp_path, "run")
    assert running.end() == 0, running.said
    assert running.report.account.read == scene.ledger.num_rows
    assert {row["source"] for row in scene.ops("batches", "source")} == {"progress"}, (
        "nothing was lost, and nothing is doubted"
    )
    scene.assert_exact()
