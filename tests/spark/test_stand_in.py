"""What stands in for Spark in the simulator writes what a real drain writes, in its order."""

import re
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.checkpoint import no_data_batch
from tests.harness.scene import Scene
from tests.simulation.effects import Effects
from tests.simulation.places import FOLDER, ROOTS, watched
from tests.simulation.world import World

BEYOND = ("ops/slices", "ops/late", "ops/quarantine", "ops/checks", "ops/operators")
"""What a real one writes too: rows of these, for people and repairs."""


def drains(effects: Effects, drain, times: int = 2) -> list[list[str]]:
    """What so many drains write, each, in one batch."""
    found = []
    for _ in range(times):
        effects.told = []
        with effects.watched():
            drain()
        [planned] = [each for each in effects.told if each.startswith("offsets/")]
        batch = re.compile(rf"\b{planned.removeprefix('offsets/')}\b")
        found.append([batch.sub("N", each) for each in effects.told if each not in BEYOND])
        if found[-1][:2] == ["running.json"] * 2:
            found[-1].pop(0)  # what it reads, for who looks on
    return found


def test_the_stand_in_writes_what_a_real_drain_writes(kafka, spark, monkeypatch):
    monkeypatch.setattr(no_data_batch, "due", lambda *_: None)
    with ExitStack() as stack:
        made = stack.enter_context(TemporaryDirectory(prefix=ROOTS, dir=FOLDER))
        stack.enter_context(watched())
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        stack.callback(spark.conf.unset, "spark.sql.streaming.noDataMicroBatches.enabled")
        scene = Scene(
            kafka, Path(made), "flight_events", events=600, deliveries=3, stores=1, partitions=2
        )
        scene.deliver()
        scene.run("first")

        def real():
            scene.deliver()
            scene.run("again")

        found = drains(Effects(Path(scene.settings.root)), real)
        world = World.begun(Path(made) / "simulated", frozenset(), remote=False)
        with world.with_topic():
            stood_in = drains(Effects(world.folder), world.drain)
    assert stood_in == found
