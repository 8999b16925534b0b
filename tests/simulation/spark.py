"""Spark, where the product moves the state to another number of stores: what stands in for it.
tests/spark/test_stand_in.py holds what it writes against what a real one does.

The state says of itself which records it has: so who resumes from another batch's is seen.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self
from unittest.mock import patch

from upath import UPath

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.runs import repartition
from tests.unit.checkpoints import commit_batch, plan_batch

STORES = 2
"""Of a checkpoint that begins."""


class State(NamedTuple):
    """What a batch has left in the stores, as one file."""

    until: int
    """It has the records before this offset."""
    stores: int


class Spark:
    """A session, its settings, and its manager of checkpoints."""

    def __init__(self) -> None:
        self.conf = self._streamingCheckpointManager = self

    def get(self, _: str) -> str:
        """A setting."""
        return "true"

    def set(self, *_: str) -> None:
        """It has none."""

    def repartition(self, url: str, stores: int) -> None:
        """Write the next batch, which reads nothing, and the state once more."""
        folder = _folder(url)
        checkpoint = Checkpoint(folder)
        newest = checkpoint.committed()[-1]
        end = checkpoint.batch(newest).end.by_partition
        plan_batch(folder, newest + 1, end, topic="sales", partitions=stores)
        keep(folder, newest + 1, State(end[0], stores))
        commit_batch(folder, newest + 1)


class _Cluster:
    """As spark_jobs/launch/session.py: no process is started."""

    def __init__(self, *_: Any) -> None:
        """Nobody is there."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nobody is there."""

    def session(self, _: Any) -> Spark:
        """The session."""
        return Spark()


@contextmanager
def stood_in() -> Iterator[None]:
    """Within the block a repartition finds it."""
    with (
        patch.object(repartition, "sessions_of", _Cluster),
        patch.object(repartition, "contents", _contents),
    ):
        yield


def keep(folder: UPath, batch: int, state: State) -> None:
    """Store the state after a batch."""
    store = folder / "state" / "0" / "0"
    store.mkdir(parents=True, exist_ok=True)
    (store / f"{batch + 1}.snapshot").write_bytes(json.dumps(state).encode())


def resumes(checkpoint: Checkpoint, batch: int) -> int:
    """The number of stores with which a batch begins, whose state must have all before it."""
    if batch == 0:
        return STORES
    found, entry = _kept(checkpoint.folder, batch - 1), checkpoint.batch(batch - 1)
    assert found == State(entry.end.by_partition[0], checkpoint.partitions(batch - 1) or 0), found
    return found.stores


def _kept(folder: UPath, batch: int) -> State:
    stored = (folder / "state" / "0" / "0" / f"{batch + 1}.snapshot").read_text()
    return State(*json.loads(stored))


def _contents(_: Spark, url: str, batch: int, partitions: int) -> repartition.Contents:
    state = _kept(_folder(url), batch)
    return {0: repartition.StepContents(state.until, state.until, int(partitions != state.stores))}


def _folder(url: str) -> UPath:
    """Where Spark's address of a checkpoint leads."""
    if url.startswith("file:"):
        return UPath("/" + url.removeprefix("file:").lstrip("/"))
    return UPath(url.replace("s3a://", "s3://", 1))
