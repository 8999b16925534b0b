"""Fate: what became of a record, or of an offset without one."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.source.place import Place

if TYPE_CHECKING:
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
    """Of one place: in words the repairs and replays that used it, and the versions of tables
    beside the stream that its batch read.
    """

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
    """Of a duplicate the record that was kept, or some of which one was; else the others."""
    table_version: int | None = None
    """The first one that has it in its rows."""
    event: int | None = None
    """The number of the first event that told of such a version."""
    origin: str = ""
    """Where the source has it, in words; empty if its place says all."""
    used_by: tuple[str, ...] = ()
    read_beside: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    """The table's rows that it is in now."""
    untold: tuple[str, ...] = ()
    """What cannot be told, and why."""

    def but(self, *why: str | None) -> Fate:
        """The same, where this too cannot be told; nothing is no reason."""
        return self._replace(untold=tuple(dict.fromkeys(filter(None, (*self.untold, *why)))))

    def values(self, inputs: Topics) -> tuple[Any, ...]:
        """One for each of COLUMNS."""

        def told(value: Any) -> Any:
            match value:
                case Place():
                    return value.text(inputs.shown)
                case timedelta():
                    return value.total_seconds()
                case tuple():
                    return [*map(told, value)] or None
            return value or None if isinstance(value, str) else value

        return tuple(map(told, self))
