"""Settling: what a drain, or the same command, does first about a repartition that was cut off."""

from __future__ import annotations

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import HeldLease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.repartitioned import FIELD, cut_off, gone_on, take_back
from spark_jobs.checkpoint.repartitioning import Repartitioning, read_repartitioning
from spark_jobs.contract.errors import SluiceError
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.spec import Pipeline


def settle(spec: Pipeline, paths: Paths, held: HeldLease) -> tuple[str, ...]:
    """Bring to an end what a repartition has left, under the pipeline's lease; lines of what was
    done.

    A batch that does not count is taken back. The number in identity.json is made that of the
    newest batch. Of a checkpoint that is damaged nothing is touched: what reads it next says what
    is wrong.
    """
    if not spec.keeps_state:
        return ()
    try:
        known, note = read_identity(paths), read_repartitioning(paths)
        if known is None:
            return ()
        cut = cut_off(paths, known.fingerprint[FIELD])
        number, told = _counted(Checkpoint(paths.checkpoint), cut), known.fingerprint[FIELD]
        stayed = note is not None and number == note.wanted != told and gone_on(paths, note)
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
    if stayed and note is not None:
        lines.append(
            f"{paths.pipeline}: a run went on behind batch {note.batch}, of a repartition that was "
            "cut off: it counts, and nobody has compared its state with that of before. "
            f"`sluice rewind {paths.pipeline} --to-batch {note.batch - 1}` goes back behind it"
        )
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
