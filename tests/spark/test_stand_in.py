"""What stands in for Spark in the simulator writes what a real drain writes, in its order."""

import re
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.runs.repartition import repartition
from tests.harness.scene import Scene
from tests.simulation.effects import Effects
from tests.simulation.places import FOLDER, ROOTS, watched
from tests.simulation.spark import stood_in
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
    return found


def moves(effects: Effects, move) -> list[str]:
    """What a repartition writes, without the entries that it copies."""
    effects.told = []
    with effects.watched():
        move()
    newest = max(
        int(each.removeprefix("offsets/")) for each in effects.told if each.startswith("offsets/")
    )
    copied = {f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(newest)}
    found = [each for each in effects.told if each not in copied]
    return [re.sub(rf"/{newest}$", "/N", each) for each in found]


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

        of_real = Effects(Path(scene.settings.root))
        found = drains(of_real, real)
        moved = moves(of_real, lambda: list(repartition(scene.spec, scene.settings, 3)))
        world = World.begun(Path(made) / "simulated", frozenset(), remote=False)
        of_world = Effects(world.folder)
        with world.with_topic(), stood_in():
            assert drains(of_world, world.drain) == found
            assert moves(of_world, lambda: world.repartition(3)) == moved
    assert "offsets/N" in moved
