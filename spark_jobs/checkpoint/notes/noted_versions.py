"""Noted versions: which versions of the tables beside the stream a checkpoint's batches read.

`inputs/<N>` in Spark's folder has them for batch N and all later ones, up to the next such note. A
drain writes it before Spark plans batch N. So a batch that runs again, or is read again, has the
rows that it had. A repair has those of the newest note: what it computes is never ahead of what
drains have compared (runs/resume/marking.py). A pipeline without such tables has no note.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint, ids
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import FILE, read_failing
from spark_jobs.errors import SideGone
from spark_jobs.storage.pin import INPUTS, Pin
from spark_jobs.storage.root.live_place import FOLDER, spark_folder
from spark_jobs.storage.root.paths import CHECKPOINTS
from spark_jobs.storage.root.store import make_folder
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath

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


def noted_for(batch: int, checkpoint: Checkpoint) -> dict[str, Pin]:
    """Name -> the version that the batch reads of each table beside the stream, as far as it is
    noted still, whether it can be read or not.
    """
    found = note_of(batch, checkpoint)
    return found.inputs if found else {}


def newest_noted(checkpoint: Checkpoint, spec: Pipeline) -> dict[str, Pin]:
    """Name -> the version that the newest run has noted of each. Raises SideGone if none has."""
    found = noted_now(checkpoint, spec)
    if unnoted := [side.name for side in spec.sides if side.name not in found]:
        raise SideGone.no_run(pipeline=spec.name, side=unnoted[0])
    return found


def noted_now(checkpoint: Checkpoint, spec: Pipeline) -> dict[str, Pin]:
    """The same, as far as anything is noted; and which excisions are."""
    noted = note_of(following(checkpoint), checkpoint) if spec.sides else None
    found = noted.inputs if noted else {}
    beside = {side.name: found[side.name] for side in spec.sides if side.name in found}
    return beside | read_failing(checkpoint.folder.parent / FILE).pins


def note(pinned: Pinned, checkpoint: Checkpoint, held: Held) -> None:
    """Keep it, under the pipeline's lease, unless it is noted."""
    first, folder = pinned.batch + 1, checkpoint.folder / INPUTS
    before = note_of(first, checkpoint)
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
            noted = note_of(batch, checkpoint)
            found |= {*noted.inputs.values()} if noted else set()
    return found


def following(checkpoint: Checkpoint) -> int:
    """The first batch that is not committed."""
    return max(checkpoint.committed(), default=-1) + 1


def note_numbers(batch: int, checkpoint: Checkpoint) -> list[int]:
    """The numbers of those that are there for the batch, torn ones too; the last one counts."""
    return [each for each in ids(checkpoint.folder / INPUTS) if each <= batch]


def note_of(batch: int, checkpoint: Checkpoint) -> Pins | None:
    """What the newest note for the batch says; None without one, and of a torn one."""
    numbers = note_numbers(batch, checkpoint)
    try:
        return Pins.read(checkpoint.folder / INPUTS / str(numbers[-1])) if numbers else None
    except ValueError:  # torn: it says nothing, and what an older one says is not of this batch
        return None
