"""docs/deploy.md's restore: a copied root goes on, whatever characters its name has."""

import shutil
from pathlib import Path

import pytest

from spark_jobs.errors import StateUnreadable
from spark_jobs.messages.job import StateQuery
from spark_jobs.runs.told.state_view import state_view
from tests.harness.crash import over
from tests.harness.long_form import long_form
from tests.harness.refused import fails
from tests.harness.scene import Scene
from tests.spark.test_repair import Repairs

ELSEWHERE = "b {1,2} wha*t? ü%"


def moved(scene: Scene, folder: Path) -> Scene:
    """From a backup: the first is gone."""
    shutil.copytree(scene.settings.root, folder, symlinks=True)
    shutil.rmtree(scene.settings.root)
    return over(scene, folder)


def names(folder: Path, place: str) -> list[str]:
    """The files under a folder that have the name of a place in them."""
    found = [each for each in folder.rglob("*") if each.is_file()]
    return [str(each.relative_to(folder)) for each in found if place.encode() in each.read_bytes()]


@pytest.mark.parametrize(
    "pipeline", [pytest.param("aircraft_rotations", marks=long_form), "departure_delays"]
)
def test_a_root_restored_to_another_place_drains_on_exactly_repairs_and_verifies(
    scene, tmp_path, monkeypatch, pipeline
):
    """A GroupState, and an Aggregate whose records in groups are counted."""
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")
    first = scene(pipeline, events=6000, deliveries=3)
    for number in range(2):
        first.deliver()
        first.run(f"first-{number}")
    there = moved(first, tmp_path / ELSEWHERE / "root")
    if pipeline == "aircraft_rotations":  # to read state changes nothing
        with fails(StateUnreadable, "checkpoint_moved"):
            [*state_view(there.spec, there.settings, StateQuery())]
    there.deliver_all()
    there.run("second")
    there.assert_exact()
    assert there.ops("late")
    assert [*state_view(there.spec, there.settings, StateQuery())]
    repairs = Repairs(there)
    report = repairs.stage(plan := repairs.plan())
    assert (report.problem, report.change and report.change.unexplained) == (None, 0)
    repairs.swap(plan)
    report, _ = repairs.done("verify", plan.spans[0].start, plan.spans[0].end)
    assert report.change.added + report.change.removed + report.change.changed == 0
    assert not Path(first.settings.root).exists()
    assert names(Path(str(there.paths.checkpoint)), first.settings.root) == []
