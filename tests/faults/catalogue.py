"""The kills of a campaign: each starts a drain, ends it in its way, and leaves the rest."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import psutil

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.table import Delta
from tests.harness.process import Running, lives
from tests.harness.scene import Scene


class Lengths(NamedTuple):
    """Seconds of an undisturbed drain and of its longest batch: a kill by chance falls within."""

    run: float = 0.0
    batch: float = 0.0


class Kill(NamedTuple):
    """`act` ends a drain with these `failpoints`; `where` finds its place, `chance` its share."""

    name: str
    act: Callable[[Running, Random, Lengths], None]
    failpoints: str = ""
    chance: int = 1
    where: str = ""
    lives: bool = False


def nothing(_running: Running, _chance: Random, _lengths: Lengths) -> None:
    """Its own failpoint ends it."""


def in_a_batch(running: Running, chance: Random, lengths: Lengths) -> None:
    running.wait_for(running.has_planned, "a batch")
    time.sleep(chance.uniform(0, lengths.batch))
    running.kill()


def whenever(running: Running, chance: Random, lengths: Lengths) -> None:
    time.sleep(chance.uniform(0, lengths.run))
    running.kill()


def _while_stores_are_written(running: Running, _chance: Random, _lengths: Lengths) -> None:
    stores_are_written(running)
    running.kill()


def stores_are_written(running: Running) -> None:
    """Until they are."""
    running.wait_for(
        lambda: running.has_planned() and _stores(running, running.checkpoint.planned()[-1]),
        "a batch's stores",
    )


def its(kind: str) -> Callable[[Running, Random, Lengths], None]:
    def act(running: Running, chance: Random, lengths: Lengths) -> None:
        running.wait_for(running.has_planned, "a batch")
        time.sleep(chance.uniform(0, lengths.batch))
        strike(running, kind)

    return act


def _its_held(kind: str, place: str) -> Callable[[Running, Random, Lengths], None]:
    def act(running: Running, _chance: Random, _lengths: Lengths) -> None:
        running.hold(place)
        strike(running, kind)

    return act


def strike(running: Running, kind: str) -> None:
    """Kill this part; a driver whose JVM is gone ends by itself, and holds the lease until then."""
    drivers = [*running.processes("driver")]
    for process in [*running.processes(kind)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    running.wait_until(
        lambda: not any(lives(driver.pid) for driver in drivers), "the end of the driver"
    )


KILLS = (
    *(Kill(f"failpoint {name}", nothing, f"{name}=exit") for name in failpoint.POINTS),
    Kill("all of it, in a batch", in_a_batch, chance=8),
    Kill("all of it, at any moment", whenever, chance=2),
    Kill("its JVM, in a batch", its("jvm"), chance=2),
    Kill("its driver, in a batch", its("driver")),
)
"""The long form: the places are those of the failpoints, and where chance falls."""

STORES = Kill("all of it, while stores are written", _while_stores_are_written)
WHOLE = Kill("nobody kills it", nothing)
DRIVER = Kill(
    "its driver, when the table has the batch",
    _its_held("driver", "table.committed"),
    "table.committed=wait",
)
SHORT = (STORES, WHOLE, DRIVER)
"""One of each kind after which nobody is left to tell, each at a certain place."""


def schedule(seed: int, kills: int) -> list[tuple[Kill, Random]]:
    """Each kind of kill once, in a random order, then by chance: the same for the same seed."""
    chance = Random(seed)
    first = chance.sample(KILLS, len(KILLS))
    drawn = [
        *first,
        *chance.choices(KILLS, [kill.chance for kill in KILLS], k=max(0, kills - len(first))),
    ][:kills]
    return [(kill, Random(chance.random())) for kill in drawn]


def at_failpoint(name: str) -> str:
    """What `landed` says of it."""
    return f"at a failpoint: {failpoint.POINTS[name]}"


IN_STORES = "in the stateful part of a batch, stores being written"


def landed(scene: Scene, running: Running, kill: Kill) -> str:
    """Where a kill found the drain: as its failpoint says, or told by the files that it left."""
    if kill.failpoints:
        return at_failpoint(kill.failpoints.partition("=")[0])
    if "Spark is up" not in running.said:
        return "before the query started"
    planned, committed = running.checkpoint.planned(), running.checkpoint.committed()
    if planned[-1:] != committed[-1:]:
        return _within(scene, running, planned[-1])
    if not running.has_planned():
        return "in the query, before its first batch"
    if committed[-1:] and committed[-1] > read_cursor(scene.paths.cursor).audited:
        return "committed, not accounted for"
    return "reported" if running.report else "accounted for, not reported"


def _within(scene: Scene, running: Running, batch: int) -> str:
    """Of a batch that is planned and not committed."""
    known = read_identity(scene.paths)
    if known and Delta(scene.paths.table).newest_batch(known.owner(scene.spec.name)) >= batch:
        return "table committed, checkpoint not"
    return IN_STORES if _stores(running, batch) else "in the stateful part of a batch"


def _stores(running: Running, batch: int) -> bool:
    return any(Path(str(running.checkpoint.folder)).glob(f"state/*/*/{batch + 1}[_.]*"))
