"""Cursor: the last batches that were audited and checked, in cursor.json beside the checkpoint.

After a crash the next run audits and checks the batches behind it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.contract.files import write_whole
from spark_jobs.contract.report import StateUse

if TYPE_CHECKING:
    from upath import UPath


class Cursor(BaseModel):
    """The content of cursor.json. Batch ids are -1 before the first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    audited: int = -1
    """The newest batch that has its row in ops.batches, as all before it have."""
    judged: int = -1
    """The newest batch whose rows passed the critical checks, as those of all before it did."""
    judged_table_version: int | None = None
    """The table's version at that batch. Rows of later versions have not passed yet."""
    table_version: int | None = None
    """The table's version made by the last audited batch that committed to it."""
    state: StateUse = StateUse()
    """The state after the last batch that reported it: a run without new data reports none."""
    last_event_time: datetime | None = None
    """The largest event time of all audited batches."""
    still_batches: int = 0
    """How many consecutive batches, up to the last, took in records without a newer event time than any before."""
    timers_waiting: int | None = 0
    """Timers set and not fired after the last batch that reported them; None if unknown."""

    def write(self, path: UPath) -> None:
        """Write the file atomically."""
        write_whole(path, self.model_dump_json(indent=2))


def read_cursor(path: UPath) -> Cursor:
    """The stored cursor; one before any batch if there is no file. Raises CheckpointBroken if it does not parse."""
    try:
        return Cursor.model_validate_json(path.read_text()) if path.exists() else Cursor()
    except ValueError:
        raise checkpoint_broken(f"{path} does not parse", path.parent.parent.name) from None
