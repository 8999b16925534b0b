"""Manifest: what was staged for a repair, and how it was compared with the table; in manifest.json
of its staging folder.

It is written last: a staging folder without one is garbage.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field as Described

from spark_jobs.errors import RepairUnknown
from spark_jobs.messages.kind import AskedKind
from spark_jobs.spec.analysis.ranged import BY_KEY
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.stored import Stored
from spark_jobs.values.spans import Position, Span

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths


class MergedRecord(BaseModel):
    """A late or quarantined record, and what became of it: a row of ops.merged."""

    model_config = ConfigDict(frozen=True)

    topic_id: str
    partition: int
    offset: int
    element: int | None = None
    source: Literal["late", "quarantine"]
    fate: str
    """merged, duplicate, filtered, or why it still cannot be used."""
    position: datetime | None = None
    event_time: datetime | None = None


def in_the_rows(merged: Iterable[MergedRecord]) -> dict[str, int]:
    """How many late and how many quarantined records are in the rows: columns of ops.repairs."""
    found = [record.source for record in merged if record.fate == "merged"]
    return {"late_merged": found.count("late"), "replayed": found.count("quarantine")}


class Manifest(Stored):
    """The content of manifest.json."""

    repair_id: str
    attempt: str = ""
    """Of the stage that made it: two of one repair differ in it alone, as a rule."""
    pipeline: str
    generation: str
    kind: AskedKind
    spans: tuple[Span, ...]
    """What was asked for, and computed."""
    around: tuple[Span, ...] = ()
    """The positions of the table's rows with which it was compared; empty if they are `spans`."""
    differing: tuple[Span, ...]
    """What the swap replaces, within `compared`; empty if the table has these rows already."""
    position: Position
    spec_digest: str = ""
    """Of the spec and the code by which the rows were computed; an older Sluice noted none."""
    inputs: dict[str, Pin] = Described(default_factory=dict)
    """The versions of the tables beside the stream with which they were computed."""
    table_id: str
    """Delta's id of the table."""
    table_version: int
    """The table's version with which the staged rows were compared."""
    added: int = 0
    removed: int = 0
    changed: int = 0
    unexplained: int = 0
    newly_bad: int = 0
    """Records in `bad/` beside it, which the swap puts into ops.quarantine."""
    merged: tuple[MergedRecord, ...] = ()
    approval: Literal["needed", "not needed"] = "not needed"
    approved_by: str | None = None
    rejected_by: str | None = None
    rejected_at: datetime | None = None

    @property
    def compared(self) -> tuple[Span, ...]:
        """The positions of the table's rows on which the staged ones rest."""
        return self.around or self.spans

    @property
    def parts(self) -> tuple[str, ...]:
        """What differs, for a reader."""
        if self.position == BY_KEY:
            return ("rows by their keys",) * bool(self.differing)
        return tuple(map(str, self.differing))

    @property
    def approved(self) -> bool:
        """Whether it may be swapped."""
        return self.approval == "not needed" or bool(self.approved_by)


def read_manifest(paths: Paths, repair_id: str) -> Manifest:
    """The manifest of a repair. Raises RepairUnknown if there is none, or it does not parse."""
    path = paths.staging(repair_id) / "manifest.json"
    try:
        return Manifest.read(path)
    except FileNotFoundError:
        wrong = "is not there: nothing was staged under this name, or it was removed since"
    except ValueError:
        wrong = "does not parse"
    raise RepairUnknown.staged_unreadable(path=path, wrong=wrong, pipeline=paths.pipeline)


def approve(paths: Paths, repair_id: str, who: str) -> None:
    """Note who agreed to the change. Raises RepairUnknown."""
    known = read_manifest(paths, repair_id)
    known.model_copy(update={"approved_by": who}).write(paths.staging(repair_id) / "manifest.json")
