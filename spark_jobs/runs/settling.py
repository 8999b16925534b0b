"""Settling: what a drain, or the command that moves state, does first: about a root that was moved,
and about a repartition that was cut off.
"""

from __future__ import annotations

from contextlib import suppress

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import HeldLease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.repartitioned import FIELD, cut_off, moves_state, take_back
from spark_jobs.checkpoint.repartitioning import Repartitioning, read_repartitioning
from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.contract.errors import CheckpointBroken, SluiceError
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.spec import Pipeline


def settle(spec: Pipeline, paths: Paths, held: HeldLease) -> tuple[str, ...]:
    """Let the checkpoint name its own files, and bring to an end what a repartition has left, under
    the pipeline's lease; lines of what was done.

    A batch that does not count is taken back. The number in identity.json is made that of the
    newest batch. Of a checkpoint that is damaged nothing is touched: what reads it next says what
    is wrong.
    """
    if not spec.keeps_state:
        return ()
    lines: list[str] = []
    if follow(paths.checkpoint, held.confirm):
        lines.append(
            f"{paths.pipeline}: the root was moved to {paths.root}: the notes of its checkpoint "
            "name it now"
        )
    return (*lines, *_settled(paths, held))


def _settled(paths: Paths, held: HeldLease) -> tuple[str, ...]:
    try:
        known, note = read_identity(paths), read_repartitioning(paths)
        if known is None:
            return ()
        cut = cut_off(paths, known.fingerprint[FIELD])
        checkpoint, told = Checkpoint(paths.checkpoint), known.fingerprint[FIELD]
        number = _counted(checkpoint, cut)
    except SluiceError:
        return ()
    lines: list[str] = []
    if cut is not None:
        lines += _taken_back(paths, cut, held)
    if number is not None and number != told:
        held.confirm()
        known.with_partitions(number).write(paths.identity)
        lines.append(
            f"{paths.pipeline}: {paths.identity} said that the state is in {told} stores for each "
            f"step, and its newest batch has {number}: it says so now"
        )
        lines += _uncompared(paths, _moved(checkpoint, told), note)
    if note is not None:
        held.confirm()
        paths.repartitioning.unlink()  # last: by it one knows that there is something to do
    return tuple(lines)


def _counted(checkpoint: Checkpoint, cut: Repartitioning | None) -> int | None:
    """How many stores the newest committed batch has that counts; None if nobody can tell."""
    planned = checkpoint.planned()
    batches = [each for each in checkpoint.committed() if cut is None or each != cut.batch]
    if not batches or batches[-1] not in planned:
        return None
    return checkpoint.partitions(batches[-1])


def _moved(checkpoint: Checkpoint, told: object) -> int | None:
    """The newest committed batch that moved the state, if it did so from `told` stores."""
    with suppress(CheckpointBroken):  # of an older entry, from which no run resumes
        for batch in reversed(checkpoint.committed()):
            if moves_state(checkpoint, batch):
                return batch if checkpoint.partitions(batch - 1) == told else None
    return None


def _uncompared(paths: Paths, moved: int | None, note: Repartitioning | None) -> tuple[str, ...]:
    """What to tell of a batch that moved the state, and of which identity.json did not know."""
    name = paths.pipeline
    if moved is None:
        return ()
    if note is not None and note.batch == moved:
        what = (
            f"a run went on behind batch {moved}, of a repartition that was cut off: it counts, "
            "and nobody has compared its state with that of before"
        )
    else:
        what = (
            f"nothing says that the state after batch {moved} was compared with that of before: "
            "Spark was used alone, a process that slept came late, or identity.json is a copy of "
            "before"
        )
    return (f"{name}: {what}. `sluice rewind {name} --to-batch {moved - 1}` goes back behind it",)


def _taken_back(paths: Paths, note: Repartitioning, held: HeldLease) -> tuple[str, ...]:
    checkpoint = Checkpoint(paths.checkpoint)
    there = note.batch in checkpoint.planned()
    held.confirm()
    take_back(checkpoint, note)
    return (
        (
            f"{paths.pipeline}: batch {note.batch}, of a repartition that was cut off, is taken "
            "back; the state is in as many stores as before",
        )
        if there
        else ()
    )
