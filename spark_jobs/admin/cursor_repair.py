"""Cursor repair: the cursor that a checkpoint should have, made from ops.batches and ops.runs.

It never says of a batch that it is accounted for, or has passed the checks, unless these tables do:
other batches are accounted for, or checked, again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.errors import CheckpointBroken
from spark_jobs.messages.report import StateUse
from spark_jobs.ops import accounts, ops_tables
from spark_jobs.runs.verdict_on import verdict_on
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.lease_view import Held

COLUMNS = (
    "batch_id",
    "generation",
    "table_version",
    "state_rows",
    "state_bytes",
    "last_event_time",
    "topics",
)


class Found(NamedTuple):
    """The cursor that the checkpoint should have."""

    cursor: Cursor
    mending: str
    """What is done to have it, for the user; empty if it is stored."""


class _Passed(NamedTuple):
    """The last batch that passed the checks, and the table's version at it."""

    batch: int = -1
    version: int = 0


def find_cursor(paths: Paths, known: Identity) -> Found:
    """The stored cursor, if each batch that it counts and that has not passed has its account."""
    rows = accounts.stored(paths, known, COLUMNS)
    try:
        cursor = read_cursor(paths.cursor)
    except CheckpointBroken:
        return Found(
            _made(paths, known, rows), f"write {paths.cursor} again, from ops.batches and ops.runs"
        )
    audited = _last_accounted(rows, cursor.judged, cursor.audited)
    if audited == cursor.audited:
        return Found(cursor, "")
    return Found(
        cursor.model_copy(update={"audited": audited}),
        f"write {paths.cursor} again, back at batch {audited}: ops.batches has not one row for "
        "each later one, and the next run accounts for them again, from Kafka",
    )


def store_cursor(paths: Paths, known: Identity, held: Held) -> None:
    """Store it, and remove the accounts of later batches: the next run makes them again."""
    cursor = find_cursor(paths, known).cursor
    for table in ("batches", "slices"):
        ops_tables.remove_after(
            paths.root, table, paths.pipeline, known.generations, cursor.audited, held
        )
    cursor.over(paths.cursor).put(paths.cursor, held)


def _made(paths: Paths, known: Identity, rows: list[Row]) -> Cursor:
    passed = _passed(paths, known, rows)
    newest = rows[-1]["batch_id"] if rows else -1
    audited = _last_accounted(rows, passed.batch, newest)
    rows = [row for row in rows if row["batch_id"] <= audited]
    last = rows[-1] if rows else {}
    return Cursor(
        audited=audited,
        judged=passed.batch,
        judged_table_version=passed.version,
        judged_generation=known.generation,
        state=StateUse(rows=last.get("state_rows") or 0, bytes=last.get("state_bytes") or 0),
        last_event_time=max(
            (row["last_event_time"] for row in rows if row["last_event_time"]), default=None
        ),
        newest=accounts.newest_times(rows),
        timers_waiting=None,
    )


def _last_accounted(rows: list[Row], judged: int, audited: int) -> int:
    lacking = accounts.first_lacking([row["batch_id"] for row in rows], judged, audited)
    return audited if lacking is None else lacking - 1


def _passed(paths: Paths, known: Identity, rows: list[Row]) -> _Passed:
    if not rows:
        return _Passed()
    newest = rows[-1]["batch_id"]
    version = history.version_after(table_of(paths), known.owners(paths.pipeline), newest)
    judged = verdict_on(paths, known, None, version, newest)
    return _Passed(judged.batch, judged.table_version)
