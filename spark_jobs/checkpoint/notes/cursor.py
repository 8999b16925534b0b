"""Cursor: the last batches that were audited and checked, in cursor.json beside the checkpoint.

After a crash the next run audits and checks the batches behind it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.messages.report import StateUse
from spark_jobs.storage.root.live_place import SPARK
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath


class Cursor(Stored):
    """The content of cursor.json. Batch ids are -1 before the first."""

    audited: int = -1
    """The newest batch that has its row in ops.batches, as all before it have."""
    judged: int = -1
    """The newest batch whose rows passed the critical checks, as all rows before it did."""
    judged_table_version: int | None = None
    """The table's version at that batch. Rows of later versions have not passed yet."""
    judged_generation: str = ""
    """The generation whose verdict that is: with the version it names the rows. Empty before the
    first, and where an older Sluice wrote it.
    """
    open_records: int | None = None
    """Records in an Aggregate's open groups at `judged`, if a measure counts them; None if unknown.
    """
    state: StateUse = StateUse()
    """The state after the last batch that reported it: a run without new data reports none."""
    last_event_time: datetime | None = None
    """The largest event time of all audited batches."""
    newest: tuple[tuple[str, datetime], ...] = ()
    """Of several topics: name and the largest event time of its audited batches. Nothing is known
    of one that is not there.
    """
    still_batches: int = 0
    """How many consecutive batches, up to the last, took in records without a newer event time than
    any before.
    """
    timers_waiting: int | None = 0
    """Timers set and not fired after the last batch that reported them; None if unknown."""


def read_cursor(path: UPath) -> Cursor:
    """The stored cursor; one before any batch if there is no checkpoint yet.

    Raises CheckpointBroken if it does not parse, or is missing beside a checkpoint with batches: a
    run would account for all of them again, and judge none of what failed.
    """
    try:
        if path.exists():
            return Cursor.read(path)
    except ValueError:
        wrong = "does not parse"
    else:
        if not any(path.parent.glob(f"{SPARK}*/commits/[0-9]*")):
            return Cursor()
        wrong = "is missing"
    raise checkpoint_broken(f"{path} {wrong}", path.parent.parent.name)
