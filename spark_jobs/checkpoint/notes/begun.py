"""Begun: the note of a run that works, in running.json beside its lease. A killed run leaves it."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.messages.kind import Kind


class Begun(Stored):
    """The content of running.json."""

    kind: Kind
    run_id: str
    started_at: datetime
    pid: int
    host: str
    begins: dict[int, int] | None = None
    """Partition -> the offset from which it is read where no batch has read any; None until the run
    knows.
    """
    ends: dict[int, int] | None = None
    """Partition -> the offset up to which this run reads; None likewise."""

    def is_of(self, other: Begun) -> bool:
        """Whether both are of one run, whatever it knew."""
        plain = {"begins": None, "ends": None}
        return self.model_copy(update=plain) == other.model_copy(update=plain)
