"""Exchange: rows of the table replaced by others, and the record of it.

A swap and an undo are both one. All that takes long happens before the pipeline's lease is taken:
the rows are read, and the table's are compared with those that they were computed for. Under the
lease the log tells whether they moved since; if they did, the lease is given back and they are
compared again.

It may be repeated at any place. The commit has a transaction id, which is asked for first. The rows
of the ops tables are replaced by the repair's id, and the cursor moves last: what it publishes is
recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import failpoint
from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.contract.errors import LeaseHeld, StagingStale
from spark_jobs.repair.base import Base
from spark_jobs.repair.commit import condition, refuse_features, replace
from spark_jobs.repair.preconditions import Claim, committed, refuse_foreign, refuse_overlapped
from spark_jobs.repair.staging import arrow_schema
from spark_jobs.sink import history
from spark_jobs.storage import delta

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.contract.paths import Paths

LOOKS = 3
"""How often the rows are compared, if they move between the comparison and the lease."""


class Exchange(NamedTuple):
    """What is to be replaced by what."""

    claim: Claim
    rows: Callable[[pa.Schema], pa.Table]
    """The rows to write: called once, before the lease."""
    record: Callable[[int | None], None]
    """Writes to the ops tables that the rows are in the table, by the version that has them."""
    going: Callable[[pa.Schema], pa.Table] | None = None
    """The rows that are to go, where they are kept beside the table: then only the spans that
    differ are compared, and no file of an older version is read.
    """


class Exchanged(NamedTuple):
    """What an exchange did."""

    version: int | None
    """The table's version that has the rows; None where there was nothing to replace."""
    again: bool
    """Whether an earlier try had committed it."""
    passed: bool
    """Whether the next publish shows it: all before it had passed the checks."""
    leased_seconds: float


def exchange(paths: Paths, change: Exchange, run_id: str) -> Exchanged:
    """Replace the rows, or complete an earlier try that was cut off.

    Raises StagingStale, RepairOverlapped, SwapRefused, LeaseHeld, LeaseLost or TableContended; then
    nothing was written.
    """
    claim = change.claim
    for _ in range(LOOKS):
        made = _unless_committed(paths, change)
        with lease(paths.lease, run_id) as held:
            began = time.monotonic()
            failpoint.at("swap.leased")
            known = refuse_foreign(paths, claim)
            done = committed(paths, known, claim)
            again = done is not None
            if done is None:
                if made is None or made.base.touched():
                    continue
                refuse_overlapped(paths, known, claim)
                held.confirm()
                if made.rows is not None:
                    done = replace(paths.table, claim, made.rows, made.condition)
            failpoint.at("swap.committed")
            change.record(done)
            failpoint.at("swap.recorded")
            passed = done is not None and _move_cursor(paths, done)
            return Exchanged(done, again, passed, time.monotonic() - began)
    raise LeaseHeld(
        f"others wrote to {paths.table} each time between the comparison of the rows of repair "
        f"{claim.repair_id} and its commit.",
        "Try again when they are done.",
    )


class _Prepared(NamedTuple):
    """All that the commit needs, made before the lease."""

    base: Base
    rows: pa.Table | None
    """What it writes; None if nothing differs."""
    condition: str
    """For the rows that it replaces."""


def _unless_committed(paths: Paths, change: Exchange) -> _Prepared | None:
    """What is prepared; None if an earlier try has made the commit, or one beside this has
    meanwhile: the rows are others then, and rightly.
    """
    known = refuse_foreign(paths, change.claim)
    if committed(paths, known, change.claim) is not None:
        return None
    try:
        return _prepared(paths, known, change)
    except StagingStale:
        if committed(paths, known, change.claim) is None:
            raise
        return None


def _prepared(paths: Paths, known: Identity, change: Exchange) -> _Prepared:
    """The rows that are to go, compared, and those that come."""
    manifest = change.claim.manifest
    refuse_overlapped(paths, known, change.claim)
    spans = manifest.differing if change.going else manifest.compared
    found = Base(paths.table, change.claim.compared_at, manifest.position, spans, change.going)
    base = found.compared()
    if not manifest.differing:
        return _Prepared(base, None, "")
    table = delta.open_table(paths.table)
    refuse_features(table)
    rows = change.rows(arrow_schema(table))
    return _Prepared(base, rows, condition(table, manifest, rows))


def _move_cursor(paths: Paths, version: int) -> bool:
    """Let the commit count as passed, if all before it had: the same checks have judged its rows.

    Otherwise the next drain judges them, with what waits for it.
    """
    cursor = read_cursor(paths.cursor)
    judged = cursor.judged_table_version
    if judged is None or judged >= version:
        return judged is not None
    if cursor.judged != cursor.audited or history.rows_changed(paths.table, judged, version - 1):
        return False
    cursor.model_copy(update={"judged_table_version": version}).write(paths.cursor)
    return True
