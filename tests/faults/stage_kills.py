"""The kills of repairs: each ends a stage or a swap in its way, and leaves the rest."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from spark_jobs.storage import failpoint
from tests.faults.catalogue import Kill, Lengths, strike
from tests.harness.process import Running


def _nothing(_running: Running, _chance: Random, _lengths: Lengths) -> None:
    """Its own failpoint ends it."""


def _whenever(running: Running, chance: Random, lengths: Lengths) -> None:
    time.sleep(chance.uniform(0, lengths.run))
    running.kill()


def _computing(running: Running, chance: Random, lengths: Lengths) -> None:
    running.wait_for(lambda: COMPUTES in running.said, "the beginning of the computation")
    time.sleep(chance.uniform(0, lengths.batch))
    running.kill()


def _its_jvm(running: Running, chance: Random, lengths: Lengths) -> None:
    running.wait_for(lambda: COMPUTES in running.said, "the beginning of the computation")
    time.sleep(chance.uniform(0, lengths.batch))
    strike(running, "jvm")


def _its_driver(running: Running, chance: Random, lengths: Lengths) -> None:
    running.wait_for(lambda: COMPUTES in running.said, "the beginning of the computation")
    time.sleep(chance.uniform(0, lengths.batch))
    strike(running, "driver")


COMPUTES = " again"
"""What a stage says when Spark is up, behind the ranges."""
AT = {
    place: Kill(f"failpoint {place}", _nothing, f"{place}=exit") for place in failpoint.STAGE_POINTS
}
OF_STAGES = (
    *AT.values(),
    Kill("all of it, while it computes", _computing, chance=4),
    Kill("all of it, at any moment", _whenever, chance=2),
    Kill("its JVM, while it computes", _its_jvm, chance=2),
    Kill("its driver, while it computes", _its_driver),
)
OF_SWAPS = (*failpoint.SWAP_POINTS, "", "")
"""The failpoint at which a swap is killed; empty: at any moment."""


class Round(NamedTuple):
    """What one repair suffers, before it is staged and swapped undisturbed."""

    stages: tuple[Kill, ...]
    between: bool
    """Whether a drain reads a delivery between its stage and its swap."""
    swaps: tuple[str, ...]
    chance: Random


def rounds(seed: int) -> Iterator[Round]:
    """Without end, and the same for the same seed."""
    chance = Random(seed)
    weights = [kill.chance for kill in OF_STAGES]
    while True:
        yield Round(
            tuple(chance.choices(OF_STAGES, weights, k=chance.randint(2, 6))),
            chance.random() < 0.3,
            tuple(chance.choices(OF_SWAPS, k=chance.randint(2, 5))),
            Random(chance.random()),
        )


def landed(running: Running, staging: Path, began: float, kill: Kill) -> str:
    """Where a kill found the stage: by its failpoint, or by what it left in its folder since."""
    if kill.failpoints:
        return f"at a failpoint: {failpoint.STAGE_POINTS[kill.failpoints.partition('=')[0]]}"
    if running.report:
        return "its report is written"
    if since(staging / "manifest.json", began):
        return "its manifest is written, and its report is not"
    if any(since(path, began) for path in (staging / "rows" / "_delta_log").glob("*.json")):
        return "its rows are beside the table, and there is no manifest"
    if COMPUTES in running.said:
        return "while it computed and compared"
    return "before Spark computed anything"


def since(path: Path, began: float) -> bool:
    """Whether it is there, and was written since."""
    return path.exists() and path.stat().st_mtime >= began
