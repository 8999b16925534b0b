"""The kills of a campaign: each starts a drain, ends it in its way, and leaves what is left to the next."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from spark_jobs import failpoint
from spark_jobs.cursor import read_cursor
from spark_jobs.identity import stored
from spark_jobs.stages.table import newest_batch
from tests.harness.process import Running
from tests.harness.scene import Scene

BATCH_SECONDS = 2.5
"""About as long as a batch of a campaign takes here: a kill falls somewhere within."""
RUN_SECONDS = 14.0


class Kill(NamedTuple):
    """`failpoints` is the drain's environment; `act` ends it. `chance` is how often, against the others."""

    name: str
    act: Callable[[Running, Random], None]
    failpoints: str = ""
    chance: int = 1


def _nothing(running: Running, _chance: Random) -> None:
    """Its own failpoint ends it."""


def _in_a_batch(running: Running, chance: Random) -> None:
    running.wait_for(running.has_planned, "a batch")
    time.sleep(chance.uniform(0, BATCH_SECONDS))
    running.kill()


def _whenever(running: Running, chance: Random) -> None:
    time.sleep(chance.uniform(0, RUN_SECONDS))
    running.kill()


def _its(kind: str) -> Callable[[Running, Random], None]:
    def act(running: Running, chance: Random) -> None:
        running.wait_for(running.has_planned, "a batch")
        time.sleep(chance.uniform(0, BATCH_SECONDS))
        for process in [*running.processes(kind)]:
            process.kill()

    return act


KILLS = (
    *(Kill(f"failpoint {name}", _nothing, f"{name}=exit") for name in failpoint.POINTS),
    Kill("all of it, in a batch", _in_a_batch, chance=8),
    Kill("all of it, at any moment", _whenever, chance=2),
    Kill("its JVM, in a batch", _its("jvm"), chance=2),
    Kill("its driver, in a batch", _its("driver")),
)


def schedule(seed: int, kills: int) -> list[tuple[Kill, Random]]:
    """Each kind of kill once, in a random order, then by chance: the same for the same seed."""
    chance = Random(seed)
    first = chance.sample(KILLS, len(KILLS))
    drawn = [*first, *chance.choices(KILLS, [kill.chance for kill in KILLS], k=max(0, kills - len(first)))][:kills]
    return [(kill, Random(chance.random())) for kill in drawn]


def landed(scene: Scene, running: Running, kill: Kill) -> str:
    """Where a kill found the drain: as its failpoint says, or told by the files that it left."""
    if kill.failpoints:
        return f"at a failpoint: {failpoint.POINTS[kill.failpoints.partition('=')[0]]}"
    if "Spark is up" not in running.said:
        return "before the query started"
    planned, committed = running.checkpoint.planned(), running.checkpoint.committed()
    if planned[-1:] != committed[-1:]:
        return _within(scene, planned[-1])
    if not running.has_planned():
        return "in the query, before its first batch"
    if committed[-1:] and committed[-1] > read_cursor(scene.paths.cursor).audited:
        return "committed, not accounted for"
    return "reported" if running.report else "accounted for, not reported"


def _within(scene: Scene, batch: int) -> str:
    """Of a batch that is planned and not committed."""
    known = stored(scene.paths)
    if known and newest_batch(scene.paths.table, known.owner(scene.spec.name)) >= batch:
        return "table committed, checkpoint not"
    stores = list(Path(str(scene.paths.checkpoint)).glob(f"state/*/*/{batch + 1}[_.]*"))
    return f"in the stateful part of a batch{', stores being written' if stores else ''}"
