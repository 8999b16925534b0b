"""Each shipped pipeline on a cluster whose workers have nothing of it: its table is the oracle's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.process import Running
from tests.harness.scene import Scene

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads


@pytest.mark.parametrize("pipeline", ["flight_events", "departure_delays", "aircraft_rotations"])
def test_a_shipped_pipelines_table_is_the_oracles(kafka: str, tmp_path: Path, pipeline: str) -> None:
    scene = Scene(kafka, tmp_path, pipeline, events=3000, deliveries=1, checked=True)
    scene.deliver_all()
    running = Running(scene, tmp_path, "run")
    assert running.end() == 0, running.said
    assert running.report is not None
    assert running.report.account.read == scene.ledger.num_rows
    assert {row["source"] for row in scene.ops("batches", "source")} == {"progress"}, "nothing was lost, and nothing is doubted"
    scene.assert_exact()
