"""Fate: what became of a record, or of an offset without one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.source.place import Place
from spark_jobs.values.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, timedelta

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


ENTERED = (Became.ACCEPTED, Became.DUPLICATE, Became.EITHER)
"""What an account counts as accepted."""
COLUMNS = (
    "record", "outcome", "why", "batch", "run_id", "event_time", "watermark_missed", "late_by",
    "copy_of", "table_version", "event", "used_by", "rows", "untold",
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
    used_by: tuple[str, ...] = ()
    """Repairs and replays, in words."""
    rows: tuple[dict[str, Any], ...] = ()
    """The table's rows that it is in now."""
    untold: tuple[str, ...] = ()
    """What cannot be told, and why."""

    def but(self, *why: str) -> Fate:
        """The same, where this too cannot be told."""
        return self._replace(untold=tuple(dict.fromkeys((*self.untold, *why))))

    def values(self, inputs: Topics) -> tuple[Any, ...]:
        """One for each of COLUMNS."""
        return (
            self.place.text(inputs.shown),
            self.became.value,
            self.why or None,
            self.batch,
            self.run_id,
            self.event_time,
            self.watermark_missed,
            None if self.late_by is None else self.late_by.total_seconds(),
            [each.text(inputs.shown) for each in self.copies] or None,
            self.table_version,
            self.event,
            [*self.used_by] or None,
            [*self.rows] or None,
            [*self.untold] or None,
        )

    def lines(self, inputs: Topics) -> Iterator[str]:
        """For a reader."""
        by = "" if self.batch is None else f", batch {self.batch}"
        run = f" of run {self.run_id}" if self.run_id else ""
        why = f": {self.why}" if self.why else ""
        yield f"{self.place.text(inputs.shown)}  {self.became}{by}{run}{why}"
        if self.event_time is not None:
            at = self.event_time
            yield f"  event time {at if isinstance(at, str) else iso(at, ' ')}"
        if self.watermark_missed is not None:
            yield f"  missed the watermark {iso(self.watermark_missed, ' ')} by {self.late_by}"
        if self.copies:
            one = "" if len(self.copies) == 1 else "one of "
            of = ", ".join(each.text(inputs.shown) for each in self.copies)
            also = "copy of" if self.became is Became.DUPLICATE else "has the same key as"
            yield f"  {also} {one}{of}"
        if self.table_version is not None:
            yield f"  first in version {self.table_version} of the table"
        if self.event is not None:
            yield f"  first published by event {self.event}"
        yield from (f"  {each}" for each in self.used_by)
        for row in self.rows:
            yield f"  row: {', '.join(f'{name}={value}' for name, value in row.items())}"
        yield from (f"  cannot be told: {each}" for each in self.untold)
