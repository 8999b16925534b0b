"""Open groups: holds the records that entered an Aggregate against those in its state and in the
rows that it wrote, since the last verdict that passed.
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.run import Run
from spark_jobs.runs.judge.unjudged import Unjudged
from spark_jobs.spec.analysis.counting import counting_step
from spark_jobs.state.grouped import MOST_STATE_ROWS, records_in_groups
from spark_jobs.storage.root.path_forms import state_url


class OpenGroups(NamedTuple):
    """None where it is not known."""

    records: int | None = None
    """Records in the open groups now."""
    unaccounted: int | None = None
    """By how many records entered, open and written disagree."""


def open_groups(run: Run, cursor: Cursor, waiting: Unjudged) -> OpenGroups:
    """Read the state after the last audited batch, and balance it with what the waiting batches
    put in and took out.
    """
    index = counting_step(run.spec)
    if index is None or cursor.state.rows > MOST_STATE_ROWS:
        return OpenGroups()
    if not waiting.batches:
        return OpenGroups(records=cursor.open_records)
    now = _records(run, cursor.audited, index)
    before = 0 if cursor.judged < 0 else cursor.open_records
    if now is None or before is None or waiting.grouped is None:
        return OpenGroups(records=now)
    entered, written = waiting.grouped
    return OpenGroups(now, abs(before + entered - written - now))


def _records(run: Run, batch: int, index: int) -> int | None:
    if batch not in run.checkpoint.readable():
        return None
    checkpoint = state_url(run.target.checkpoint)
    return records_in_groups(run.spark, checkpoint, batch, run.spec, index)
