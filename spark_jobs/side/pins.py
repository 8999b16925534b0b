"""Pins: which versions of the tables beside the stream a run, or a batch that runs again, is to
read. The checkpoint notes them (checkpoint/notes/noted_versions.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.noted_versions import Pinned, following, note_numbers, note_of
from spark_jobs.errors import SideGone
from spark_jobs.side.port import gone, newest
from spark_jobs.storage.pin import INPUTS, Pin

if TYPE_CHECKING:
    from spark_jobs.checkpoint.log import Checkpoint
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


def inputs_of(
    batch: int, checkpoint: Checkpoint, spec: Pipeline, settings: Settings
) -> dict[str, Pin]:
    """Name -> the version that the batch reads of each table beside the stream.

    Raises SideGone if one cannot be read any more, or nobody has noted it.
    """
    if not spec.sides:
        return {}
    found = note_of(batch, checkpoint)
    inputs, folder = found.inputs if found else {}, checkpoint.folder / INPUTS
    if unnoted := [side.name for side in spec.sides if side.name not in inputs]:
        raise SideGone.unnoted(pipeline=spec.name, batch=batch, side=unnoted[0], folder=folder)
    if lost := gone(spec, settings, inputs):
        version = inputs[lost].version
        raise SideGone.of_batch(pipeline=spec.name, batch=batch, side=lost, version=version)
    return inputs


def pin(
    checkpoint: Checkpoint, in_table: Callable[[], int], spec: Pipeline, settings: Settings
) -> Pinned:
    """What a run is to read. `note` keeps it.

    It is the newest version, but where the table has a batch whose state is not stored yet:
    `in_table` gives the table's newest batch. Then table and state must agree, and the run goes on
    with that batch's. Raises what `inputs_of` does.
    """
    if not spec.sides:
        return Pinned({}, {}, -1)
    first = following(checkpoint)
    if in_table() >= first:
        return Pinned(inputs_of(first, checkpoint, spec, settings), {}, first - 1)
    found, before = newest(spec, settings), note_of(first, checkpoint)
    known = {} if before is None else before.inputs
    torn = before is None and bool(note_numbers(first, checkpoint))
    moved = {name: known.get(name) for name in found if torn or name in known}
    moved = {name: was for name, was in moved.items() if was != found[name]}
    return Pinned(found, moved, first - 1)
