"""Pins: which versions of the tables beside the stream a checkpoint's batches read.

`inputs/<N>` in Spark's folder has them for batch N and all later ones, up to the next such note. A
drain writes it before Spark plans batch N. So a batch that runs again, or is read again, has the
rows that it had. A pipeline without such tables has no note.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import ids
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import SideGone
from spark_jobs.side.port import Pin, gone, newest
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from spark_jobs.checkpoint.log import Checkpoint
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held

INPUTS = "inputs"
"""Where the versions of the tables beside the stream are noted (pins.py)."""
LOGS = ("offsets", "commits", INPUTS)
NOTES = "/_metadata/v2"
"""Where transformWithState's notes are, by their batch: the number of stores among them. Spark
leaves a note that is there as it is."""


def up_to(batch: int, path: str) -> bool:
    """Whether a file is there at the end of the batch. So is its checksum: by one without its entry
    Hadoop would refuse the next entry.

    >>> [up_to(4, path) for path in ("offsets/4", "commits/.5.crc", "state/0/1/5_id.zip")]
    [True, False, True]
    >>> [up_to(4, path) for path in ("inputs/4", "inputs/5")]
    [True, False]
    >>> [up_to(4, path) for path in ("state/0/1/6_id.zip", "state/0/1/SSTs/9.sst", "metadata")]
    [False, True, True]
    """
    folder, _, name = path.rpartition("/")
    number = name.removeprefix(".").partition(".")[0].partition("_")[0]
    if not number.isdigit():
        return True
    if folder in LOGS or folder.endswith(NOTES):
        return int(number) <= batch
    top, _, store = folder.rpartition("/")
    if top.startswith("state/") and store.isdigit():
        return int(number) <= batch + 1  # a version is one more than its batch
    return True


class Pins(Stored):
    """The content of a note."""

    inputs: dict[str, Pin]


def inputs_of(
    batch: int, checkpoint: Checkpoint, spec: Pipeline, settings: Settings
) -> dict[str, Pin]:
    """Name -> the version that the batch reads of each table beside the stream.

    Raises SideGone if one cannot be read any more, or nobody has noted it.
    """
    if not spec.sides:
        return {}
    found = _noted(batch, checkpoint)
    inputs, folder = found.inputs if found else {}, checkpoint.folder / INPUTS
    if unnoted := [side.name for side in spec.sides if side.name not in inputs]:
        raise SideGone.unnoted(pipeline=spec.name, batch=batch, side=unnoted[0], folder=folder)
    if lost := gone(spec, settings, inputs):
        version = inputs[lost].version
        raise SideGone.of_batch(pipeline=spec.name, batch=batch, side=lost, version=version)
    return inputs


def pin(
    checkpoint: Checkpoint,
    in_table: Callable[[], int],
    spec: Pipeline,
    settings: Settings,
    held: Held,
) -> dict[str, Pin]:
    """Name -> the version that a run reads in all its batches, noted under the pipeline's lease.

    It is the newest one, but where the table has a batch whose state is not stored yet: `in_table`
    gives the table's newest batch. Then table and state must agree, and the run goes on with that
    batch's. Raises what `inputs_of` does.
    """
    if not spec.sides:
        return {}
    first = max(checkpoint.committed(), default=-1) + 1
    if in_table() >= first:
        return inputs_of(first, checkpoint, spec, settings)
    found, before = newest(spec, settings), _noted(first, checkpoint)
    if before is None or before.inputs != found:
        folder = checkpoint.folder / INPUTS
        if not is_remote(str(folder)):  # an object store has no folders
            folder.mkdir(parents=True, exist_ok=True)
        Pins(inputs=found).over(folder / str(first)).put(folder / str(first), held)
        _forget(checkpoint, held.confirm)
    return found


def _noted(batch: int, checkpoint: Checkpoint) -> Pins | None:
    numbers = [each for each in ids(checkpoint.folder / INPUTS) if each <= batch]
    try:
        return Pins.read(checkpoint.folder / INPUTS / str(numbers[-1])) if numbers else None
    except ValueError:  # torn: it says nothing, and what an older one says is not of this batch
        return None


def _forget(checkpoint: Checkpoint, confirm: Callable[[], None]) -> None:
    """Remove the notes of batches that Spark has forgotten."""
    oldest, folder = min(checkpoint.planned(), default=0), checkpoint.folder / INPUTS
    for number in [each for each in ids(folder) if each <= oldest][:-1]:
        confirm()
        (folder / str(number)).unlink(missing_ok=True)
