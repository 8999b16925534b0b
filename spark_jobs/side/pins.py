"""Pins: which versions of the tables beside the stream a checkpoint's batches read.

`inputs/<N>` in Spark's folder has them for batch N and all later ones, up to the next such note. A
drain writes it before Spark plans batch N. So a batch that runs again, or is read again, has the
rows that it had. A repair has those of the newest note: what it computes is never ahead of what
drains have compared (runs/resume/marking.py). A pipeline without such tables has no note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint, ids
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import FILE, read_failing
from spark_jobs.errors import SideGone
from spark_jobs.side.port import gone, newest
from spark_jobs.storage.pin import INPUTS, Pin
from spark_jobs.storage.root.live_place import FOLDER, spark_folder
from spark_jobs.storage.root.paths import CHECKPOINTS
from spark_jobs.storage.root.store import make_folder
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held


class Pins(Stored):
    """The content of a note."""

    inputs: dict[str, Pin]


class Pinned(NamedTuple):
    """What a run is to read in all its batches."""

    inputs: dict[str, Pin]
    moved: Mapping[str, Pin | None]
    """The tables that earlier batches have read in another version -> that version, or None
    where nobody knows it.
    """
    batch: int
    """The newest of those batches; -1 without one."""

    @property
    def since(self) -> dict[str, int | None]:
        """The tables that have moved -> the version before; None if nobody knows which, or it is
        another table's.
        """
        now, moved = self.inputs, self.moved.items()
        same = {
            name: was.version for name, was in moved if was and was.table_id == now[name].table_id
        }
        return {name: same.get(name) for name in self.moved}


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


def noted_for(batch: int, checkpoint: Checkpoint) -> dict[str, Pin]:
    """The same as far as it is noted still, whether it can be read or not."""
    noted = _noted(batch, checkpoint)
    return noted.inputs if noted else {}


def newest_noted(checkpoint: Checkpoint, spec: Pipeline) -> dict[str, Pin]:
    """Name -> the version that the newest run has noted of each. Raises SideGone if none has."""
    found = noted_now(checkpoint, spec)
    if unnoted := [side.name for side in spec.sides if side.name not in found]:
        raise SideGone.no_run(pipeline=spec.name, side=unnoted[0])
    return found


def noted_now(checkpoint: Checkpoint, spec: Pipeline) -> dict[str, Pin]:
    """The same, as far as anything is noted; and which excisions are."""
    noted = _noted(_following(checkpoint), checkpoint) if spec.sides else None
    found = noted.inputs if noted else {}
    beside = {side.name: found[side.name] for side in spec.sides if side.name in found}
    return beside | read_failing(checkpoint.folder.parent / FILE).pins


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
    first = _following(checkpoint)
    if in_table() >= first:
        return Pinned(inputs_of(first, checkpoint, spec, settings), {}, first - 1)
    found, before = newest(spec, settings), _noted(first, checkpoint)
    known = {} if before is None else before.inputs
    torn = before is None and bool(_numbers(first, checkpoint))
    moved = {name: known.get(name) for name in found if torn or name in known}
    moved = {name: was for name, was in moved.items() if was != found[name]}
    return Pinned(found, moved, first - 1)


def note(pinned: Pinned, checkpoint: Checkpoint, held: Held) -> None:
    """Keep it, under the pipeline's lease, unless it is noted."""
    first, folder = pinned.batch + 1, checkpoint.folder / INPUTS
    before = _noted(first, checkpoint)
    if not pinned.inputs or (before is not None and before.inputs == pinned.inputs):
        return
    make_folder(folder)
    Pins(inputs=pinned.inputs).over(folder / str(first)).put(folder / str(first), held)
    oldest = min(checkpoint.planned(), default=0)  # what Spark has forgotten
    for number in [each for each in ids(folder) if each <= oldest][:-1]:
        held.confirm()
        (folder / str(number)).unlink(missing_ok=True)


def still_read(root: UPath) -> set[Pin]:
    """The versions that batches of this root's pipelines read which have no account yet, and that
    repairs read: of each place its newest ones, however long ago they were noted.
    """
    found = set[Pin]()
    for place in (root / CHECKPOINTS).glob("*/*"):
        identity = place / "identity.json"
        if not FOLDER.fullmatch(place.name) or not identity.exists():
            continue
        checkpoint = Checkpoint(place / spark_folder(identity))
        first = read_cursor(place / "cursor.json").audited + 1
        for batch in {first, *(each for each in ids(checkpoint.folder / INPUTS) if each > first)}:
            noted = _noted(batch, checkpoint)
            found |= {*noted.inputs.values()} if noted else set()
    return found


def _following(checkpoint: Checkpoint) -> int:
    """The first batch that is not committed."""
    return max(checkpoint.committed(), default=-1) + 1


def _numbers(batch: int, checkpoint: Checkpoint) -> list[int]:
    return [each for each in ids(checkpoint.folder / INPUTS) if each <= batch]


def _noted(batch: int, checkpoint: Checkpoint) -> Pins | None:
    numbers = _numbers(batch, checkpoint)
    try:
        return Pins.read(checkpoint.folder / INPUTS / str(numbers[-1])) if numbers else None
    except ValueError:  # torn: it says nothing, and what an older one says is not of this batch
        return None
