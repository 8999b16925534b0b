"""Settling: what a drain, or the command that moves state, does first: about a root that was moved,
and about state that somebody else has moved to other stores.
"""

from __future__ import annotations

from contextlib import suppress

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.repartitioned import FIELD, moves_state
from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.errors import CheckpointBroken, SluiceError
from spark_jobs.root.paths import Paths
from spark_jobs.storage.held import Held


def settle(paths: Paths, held: Held) -> tuple[str, ...]:
    """Let the checkpoint name its own files, and identity.json the stores that the newest batch
    has, under the pipeline's lease; lines of what was done.

    Of a checkpoint that is damaged nothing is touched: what reads it next says what is wrong.
    """
    lines: list[str] = []
    if follow(paths.checkpoint, held.confirm):
        lines.append(
            f"{paths.pipeline}: the root was moved to {paths.root}: the notes of its checkpoint "
            "name it now"
        )
    return (*lines, *_settled(paths, held))


def _settled(paths: Paths, held: Held) -> tuple[str, ...]:
    checkpoint = Checkpoint(paths.checkpoint)
    try:
        known = read_identity(paths)
        batches = checkpoint.committed()
        if known is None or not batches or batches[-1] not in checkpoint.planned():
            return ()
        number, told = checkpoint.partitions(batches[-1]), known.fingerprint[FIELD]
    except SluiceError:
        return ()
    if number is None or number == told:
        return ()
    known.with_partitions(number).put(paths.identity, held)
    return (
        f"{paths.pipeline}: {paths.identity} said that the state is in {told} stores for each "
        f"step, and its newest batch has {number}: it says so now",
        *_uncompared(paths, _moved(checkpoint, told)),
    )


def _moved(checkpoint: Checkpoint, told: object) -> int | None:
    """The newest committed batch that moved the state, if it did so from `told` stores."""
    with suppress(CheckpointBroken):  # of an older entry, from which no run resumes
        for batch in reversed(checkpoint.committed()):
            if moves_state(checkpoint, batch):
                return batch if checkpoint.partitions(batch - 1) == told else None
    return None


def _uncompared(paths: Paths, moved: int | None) -> tuple[str, ...]:
    """What to tell of a batch that moved the state, and of which identity.json did not know."""
    if moved is None:
        return ()
    return (
        f"{paths.pipeline}: nothing says that the state after batch {moved} was compared with that "
        "of before: Spark was used alone, a process that slept came late, or identity.json is a "
        f"copy of before. `sluice rewind {paths.pipeline} --to-batch {moved - 1}` goes back behind "
        "it",
    )
