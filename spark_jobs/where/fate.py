"""Fate: what became of a record, or of an offset without one."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from datetime import timedelta

    from spark_jobs.source.place import Place
    from spark_jobs.spec.inputs import Topics


class Became(StrEnum):
    """The last outcome of a record, or why an offset has none."""

    MALFORMED = "malformed"
    PREMATURE = "premature"
    FILTERED = "filtered"
    LATE = "late"
    ACCEPTED = "accepted"
    """It is in the rows, as far as its own batch says."""
    DUPLICATE = "duplicate"
    """Accepted, and dropped as a copy of another one."""
    EITHER = "accepted or duplicate"
    """Accepted, and nobody can tell which of its batch's copies was kept."""
    ABORTED = "aborted"
    """A transaction was aborted: no consumer that reads committed records gets it."""
    MARKER = "marker"
    """Kafka's own note of a transaction."""
    REMOVED = "removed"
    """Kafka no longer has it, and nothing says what it was."""
    UNREAD = "not read"
    UNTOLD = "cannot be told"


COLUMNS = (
    "record", "outcome", "why", "batch", "run_id", "event_time", "watermark_missed", "late_by",
    "copy_of", "table_version", "event", "origin", "used_by", "read_beside", "rows", "untold",
)  # fmt: skip


class Fate(NamedTuple):
    """Of one place."""

    place: Place
    became: Became
    why: str = ""
    """The reason of a rejection, the step that has filtered it, or where an offset is."""
    batch: int | None = None
    run_id: str | None = None
    event_time: datetime | str | None = None
    watermark_missed: datetime | None = None
    late_by: timedelta | None = None
    copies: tuple[Place, ...] = ()
    """Of a duplicate the record that was kept, or those of which one was; else the others of which
    one was kept.
    """
    table_version: int | None = None
    """The first one that has it in its rows."""
    event: int | None = None
    """The number of the first event that told of such a version."""
    origin: str = ""
    """Where the source has it, in words; empty if its place says all."""
    used_by: tuple[str, ...] = ()
    """Repairs and replays, in words."""
    read_beside: tuple[str, ...] = ()
    """The versions of tables beside the stream that its batch read, in words."""
    rows: tuple[dict[str, Any], ...] = ()
    """The table's rows that it is in now."""
    untold: tuple[str, ...] = ()
    """What cannot be told, and why."""

    def but(self, *why: str | None) -> Fate:
        """The same, where this too cannot be told; nothing is no reason."""
        return self._replace(untold=tuple(dict.fromkeys(filter(None, (*self.untold, *why)))))

    def values(self, inputs: Topics) -> tuple[Any, ...]:
        """One for each of COLUMNS."""
        told = self._asdict() | {
            "place": self.place.text(inputs.shown),
            "became": self.became.value,
            "late_by": None if self.late_by is None else self.late_by.total_seconds(),
            "copies": [each.text(inputs.shown) for each in self.copies],
            "used_by": [*self.used_by],
            "read_beside": [*self.read_beside],
            "rows": [*self.rows],
            "untold": [*self.untold],
        }
        return tuple(None if each in ("", []) else each for each in told.values())
