"""How far the account and the checks have come, beside the checkpoint: a crash in between leaves the rest to the next run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import broken
from spark_jobs.contract.files import write_whole
from spark_jobs.contract.report import StateUse

if TYPE_CHECKING:
    from upath import UPath


class Cursor(BaseModel):
    """The content of cursor.json. Batch ids are -1 before the first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    audited: int = -1
    """Every batch up to here has its row in ops.batches."""
    judged: int = -1
    """The rows of every batch up to here passed the critical checks."""
    judged_table_version: int | None = None
    """The table's version at that point: later rows have not passed yet."""
    table_version: int | None = None
    """The table's version that the last audited batch with a commit made."""
    state: StateUse = StateUse()
    """The state after the last batch that reported any: a run without new data reports none."""
    last_event_time: datetime | None = None
    """The largest event time accounted for."""
    still_batches: int = 0
    """How many batches in a row, up to the last, took records in and no newer event time than there had been."""
    timers_waiting: int | None = 0
    """Timers set and not fired after the last batch that reported any; None where that is not known."""

    def write(self, path: UPath) -> None:
        """Whole or not at all."""
        write_whole(path, self.model_dump_json(indent=2))


def read_cursor(path: UPath) -> Cursor:
    """The stored cursor, or that of a pipeline which has never run. Raises CheckpointBroken."""
    try:
        return Cursor.model_validate_json(path.read_text()) if path.exists() else Cursor()
    except ValueError:
        raise broken(f"{path} does not parse", path.parent.parent.name) from None
