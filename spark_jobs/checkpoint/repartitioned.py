"""Repartitioned: the batch that moves the state to another number of stores, as Spark writes it,
and whether it counts.

Such a batch N+1 reads no record. Its entry of the offset log has the offsets of batch N and another
number of partitions, its state files have what those of batch N have, and its commit names them
(OfflineStateRepartitionRunner of Spark 4.2). No file of an earlier batch is changed.

A note names it before Spark begins (repartitioning.py). It counts from the moment at which
identity.json has its number. Before, it was cut off or is under way, and it can be taken back: what
batch N has is all there. It also counts once somebody has drained behind it, as a Sluice does that
knows no note: batches, or an account, stand on it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken, versions
from spark_jobs.checkpoint.repartitioning import Repartitioning, read_repartitioning
from spark_jobs.contract.errors import CheckpointBroken
from spark_jobs.storage.folders import remove_folder

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.contract.paths import Paths

FIELD = "state.shuffle_partitions"
"""The field of the fingerprint that has the number which counts."""


def cut_off(paths: Paths, number: object) -> Repartitioning | None:
    """The note of a repartition whose batch does not count; None otherwise. `number` is the one in
    identity.json.

    Raises CheckpointBroken if a file that would tell is damaged.
    """
    note = read_repartitioning(paths)
    if note is None or gone_on(paths, note):
        return None
    checkpoint = Checkpoint(paths.checkpoint)
    if note.batch in checkpoint.planned() and not _is_of(note, checkpoint):
        return None
    counts = number == note.wanted and note.batch in checkpoint.committed()
    return None if counts else note


def gone_on(paths: Paths, note: Repartitioning) -> bool:
    """Whether somebody has drained behind the noted batch: one is planned after it, or it has its
    account.
    """
    newest = max(Checkpoint(paths.checkpoint).planned(), default=-1)
    return newest > note.batch or read_cursor(paths.cursor).audited >= note.batch


def _is_of(note: Repartitioning, checkpoint: Checkpoint) -> bool:
    """Whether the planned batch is the note's: a drain may have planned one of that id before Spark
    began. One that reads records never is.
    """
    if checkpoint.partitions(note.batch) != note.wanted:
        return False
    if note.batch - 1 not in checkpoint.planned():
        missing = checkpoint.folder / "offsets" / str(note.batch - 1)
        raise checkpoint_broken(f"{missing} is missing", checkpoint.folder.parent.parent.name)
    return not checkpoint.batch(note.batch).covered


def uncounted(paths: Paths, number: object) -> int | None:
    """The batch that does not count; None without one, or if the note does not parse. For those who
    look at damage: what a note names does not count where nobody can tell.
    """
    note = None
    try:
        note = cut_off(paths, number)
    except CheckpointBroken:
        with suppress(CheckpointBroken):  # runs refuse it: refuse_unnoted
            note = read_repartitioning(paths)
    return note.batch if note else None


def moves_state(checkpoint: Checkpoint, batch: int) -> bool:
    """Whether the batch was planned with another number of stores than the one before: Spark runs
    no such batch. False if nobody can tell.

    Raises CheckpointBroken if an entry of the two does not parse.
    """
    if not {batch - 1, batch} <= {*checkpoint.planned()}:
        return False
    was, now = checkpoint.partitions(batch - 1), checkpoint.partitions(batch)
    return None not in {was, now} and was != now


def refuse_unnoted(paths: Paths) -> None:
    """Raise CheckpointBroken if the newest batch was planned with another number of stores than the
    one before, is not committed, and no note names it.

    Spark refuses to run it, and no Sluice that is at work has begun it: a process that slept came
    late, or somebody has used Spark alone.
    """
    checkpoint, note = Checkpoint(paths.checkpoint), read_repartitioning(paths)
    newest = max(checkpoint.planned(), default=-1)
    if newest in checkpoint.committed() or not moves_state(checkpoint, newest):
        return
    if note and note.batch == newest:
        return
    name, was, now = paths.pipeline, *map(checkpoint.partitions, (newest - 1, newest))
    raise CheckpointBroken(
        f"batch {newest} of {name} was planned for {now} state stores, those before have "
        f"{was}, and it is not committed: it is of a repartition that nobody goes on with.",
        f"Go back to the end of the batch before: sluice rewind {name} --to-batch {newest - 1}",
    )


def take_back(checkpoint: Checkpoint, note: Repartitioning) -> None:
    """Remove the batch of a repartition that does not count. It may be done again.

    State files that no commit names are purged later, but for stores that no other batch has.
    """
    state = checkpoint.folder / "state"
    _remove(checkpoint.folder / "commits" / str(note.batch))
    forget_operators(checkpoint, note.batch - 1)
    for store in [path for path in state.glob("*/*") if path.name.isdigit()]:
        if int(store.name) >= note.number and versions(store) <= {note.batch + 1}:
            remove_folder(store)
    _remove(checkpoint.folder / "offsets" / str(note.batch))


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
