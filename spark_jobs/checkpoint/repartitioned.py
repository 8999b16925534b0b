"""Repartitioned: the batch that moves the state to another number of stores, as Spark writes it.

Such a batch N+1 reads no record. Its entry of the offset log has the offsets of batch N and another
number of partitions, its state files have what those of batch N have, and its commit names them
(OfflineStateRepartitionRunner of Spark 4.2). No file of an earlier batch is changed.

It counts from the moment at which identity.json has its number (runs/repartition.py). Before, it
can be taken back: what batch N has is all there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import Checkpoint, versions
from spark_jobs.errors import CheckpointBroken
from spark_jobs.storage.folders import remove_folder

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.root.paths import Paths

FIELD = "state.shuffle_partitions"
"""The field of the fingerprint that has the number which counts."""


def moves_state(checkpoint: Checkpoint, batch: int) -> bool:
    """Whether the batch was planned with another number of stores than the one before: Spark runs
    no such batch. False if nobody can tell.

    Raises CheckpointBroken if an entry of the two does not parse.
    """
    if not {batch - 1, batch} <= {*checkpoint.planned()}:
        return False
    was, now = checkpoint.partitions(batch - 1), checkpoint.partitions(batch)
    return None not in {was, now} and was != now


def refuse_half_moved(paths: Paths) -> None:
    """Raise CheckpointBroken if the newest batch was planned with another number of stores than the
    one before, and is not committed.

    Spark refuses to run it, and no Sluice that is at work has begun it: a process that slept came
    late, or somebody has used Spark alone.
    """
    checkpoint = Checkpoint(paths.checkpoint)
    newest = max(checkpoint.planned(), default=-1)
    if newest in checkpoint.committed() or not moves_state(checkpoint, newest):
        return
    name, was, now = paths.pipeline, *map(checkpoint.partitions, (newest - 1, newest))
    raise CheckpointBroken.repartition_left(
        newest=newest,
        pipeline=name,
        now=now,
        was=was,
        before=newest - 1,
    )


def remove_batch(checkpoint: Checkpoint, batch: int, number: int) -> None:
    """Remove a batch that does not count; those before have so many stores. It may be done again.

    State files that no commit names are purged later, but for stores that no other batch has.
    """
    state = checkpoint.folder / "state"
    _remove(checkpoint.folder / "commits" / str(batch))
    forget_operators(checkpoint, batch - 1)
    for store in [path for path in state.glob("*/*") if path.name.isdigit()]:
        if int(store.name) >= number and versions(store) <= {batch + 1}:
            remove_folder(store)
    _remove(checkpoint.folder / "offsets" / str(batch))


def forget_operators(checkpoint: Checkpoint, batch: int) -> None:
    """Remove what Spark noted of transformWithState in later batches: the number of stores among
    it. Spark leaves a note that is there as it is.
    """
    for note in [*checkpoint.folder.glob("state/*/_metadata/v2/*")]:
        if note.name.isdigit() and int(note.name) > batch:
            _remove(note)


def _remove(path: UPath) -> None:
    """With its checksum: by that of an entry that is gone, Hadoop would refuse the next one."""
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
