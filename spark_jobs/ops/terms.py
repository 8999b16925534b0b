"""Words of the ops tables' rows that other rooms ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.values.spans import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from datetime import datetime

TAKEN_OUT: Final = "taken out"
"""In ops.merged, in place of the source of a record from quarantine that is not in the rows."""
UNDO: Final = "/undo"
"""The end of an undo's id in ops.repairs, after the repair's."""
NEWEST: Final = "last_event_us"
"""In a topic's account in ops.batches, the newest event time: microseconds since the epoch."""
USED: Final = ("merged", "duplicate", "filtered")
"""What ops.merged says of a record that waits no more. One that still cannot be used waits on."""


def moment(microseconds: int | None) -> datetime | None:
    """The time that NEWEST says."""
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND
