"""Exchange: one commit that replaces the rows of some spans of the table, and the record of it.

A swap and an undo are both one. All that takes long happens before the pipeline's lease is taken:
the rows are read, and the table's are compared with those that they were computed for. Under the
lease the log tells whether they moved since; if they did, the lease is given back and they are
compared again.

It may be repeated at any place. The commit has a transaction id, which is asked for first: delta-rs
commits the same id twice. The rows of the ops tables are replaced by the repair's id.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs import failpoint
from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import HeldLease, lease
from spark_jobs.contract.errors import (
    LeaseHeld,
    RepairOverlapped,
    StagingStale,
    SwapRefused,
    TableContended,
)
from spark_jobs.contract.span import Span
from spark_jobs.ops import repairs
from spark_jobs.ops.repairs import UNDO
from spark_jobs.repair.base import Base
from spark_jobs.repair.manifest import Manifest
from spark_jobs.repair.staging import arrow_schema
from spark_jobs.sink import history
from spark_jobs.storage import delta

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.contract.paths import Paths

LOG = logging.getLogger(__name__)
LOOKS = 3
"""How often the rows are compared, if they move between the comparison and the lease."""
WRITTEN = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "invariants",
        "timestampNtz",
        "vacuumProtocolCheck",
    }
)
"""Features of Delta tables with which a swap by delta-rs was tried, or that do not concern rows.
Column mapping: only while it maps nothing.
"""
MAPPING = "delta.columnMapping.mode"


class Exchange(NamedTuple):
    """What is to be replaced by what."""

    repair_id: str
    """Of the swap, or of the undo."""
    manifest: Manifest
    compared_at: int
    """The version in which the table has the rows that are to go."""
    rows: Callable[[pa.Schema], pa.Table]
    """The rows to write: called once, before the lease."""
    record: Callable[[int | None], None]
    """Writes to the ops tables that the rows are in the table, by the version that has them."""

    @property
    def transaction(self) -> str:
        """The application id of the commit."""
        made = self.manifest
        return f"{made.pipeline}/{made.generation}/repair/{self.repair_id}"


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
    for _ in range(LOOKS):
        known = _refuse_foreign(paths, change)
        done = _committed(paths, known, change)
        base, rows = (None, None) if done is not None else _prepared(paths, known, change)
        with lease(paths.lease, run_id) as held:
            began = time.monotonic()
            failpoint.at("swap.leased")
            if done is None:
                known = _refuse_foreign(paths, change)
                done = _committed(paths, known, change)
            again = done is not None
            if done is None:
                if base is None or base.touched():
                    continue
                _refuse_overlapped(paths, known, change.manifest, change.compared_at)
                done = None if rows is None else _commit(paths, change, rows, held)
            failpoint.at("swap.committed")
            change.record(done)
            failpoint.at("swap.recorded")
            passed = done is not None and _move_cursor(paths, done)
            return Exchanged(done, again, passed, time.monotonic() - began)
    raise LeaseHeld(
        f"others wrote to {paths.table} each time between the comparison of the rows of repair "
        f"{change.repair_id} and its commit.",
        "Try again when they are done.",
    )


def _prepared(paths: Paths, known: Identity, change: Exchange) -> tuple[Base, pa.Table | None]:
    """The rows that the commit replaces, compared, and those that it writes; None for those if
    nothing differs.
    """
    manifest = change.manifest
    _refuse_overlapped(paths, known, manifest, change.compared_at)
    base = Base(paths.table, change.compared_at, manifest.position, manifest.spans).compared()
    if not manifest.differing:
        return base, None
    table = delta.open_table(paths.table)
    _refuse_features(paths, table)
    return base, change.rows(arrow_schema(table))


def _refuse_foreign(paths: Paths, change: Exchange) -> Identity:
    """Raise StagingStale if table or checkpoint are not those that the repair was computed for.

    An earlier try may have committed it in a generation that a rewind has kept.
    """
    known = read_identity(paths)
    manifest = change.manifest
    if known is None or manifest.generation not in known.generations:
        raise _stale(
            change, f"the checkpoint of {manifest.pipeline} was reset since: it is another one"
        )
    if not delta.is_table(paths.table):
        raise _stale(change, f"there is no table at {paths.table}")
    if str(delta.open_table(paths.table).metadata().id) != manifest.table_id:
        raise _stale(change, f"{paths.table} is another table: it was dropped and made again")
    return known


def _committed(paths: Paths, known: Identity, change: Exchange) -> int | None:
    """The version of an earlier try's commit; None if there is none.

    Raises StagingStale if it was taken back since, or if the generation changed before it.
    """
    if delta.open_table(paths.table).transaction_version(change.transaction) is not None:
        version = history.repair_version(paths.table, change.repair_id, change.compared_at)
        if version is None:
            raise _stale(change, f"it was in {paths.table}, and a RESTORE or a rewind took it back")
        return version
    if not change.repair_id.endswith(UNDO) and change.manifest.generation != known.generation:
        raise _stale(change, f"{change.manifest.pipeline} was rewound since")
    return None


def _refuse_overlapped(paths: Paths, known: Identity, manifest: Manifest, version: int) -> None:
    """Raise RepairOverlapped if a repair that was swapped in after this version had a span in
    common with this one, and was not undone.
    """
    later = repairs.swapped_after(paths.root, manifest.pipeline, known.generations, version)
    for row in later:
        if row["repair_id"] == manifest.repair_id or row["repair_id"].endswith(UNDO):
            continue  # an undo gives the rows back: the comparison says whether it did
        theirs = [Span(each["start"], each["end"]) for each in row["ranges"] or ()]
        both = [span for span in manifest.spans if any(map(span.overlaps, theirs))]
        if both:
            raise RepairOverlapped(
                f"repair {row['repair_id']} has replaced rows of {both[0]} in table version "
                f"{row['table_version']}, after those of repair {manifest.repair_id} were "
                "compared.",
                f"Compute the range again; or undo the later one first: sluice undo "
                f"{manifest.pipeline} {row['repair_id']}",
            )


def _commit(paths: Paths, change: Exchange, rows: pa.Table, held: HeldLease) -> int:
    """Replace the rows in one commit; its version."""
    manifest = change.manifest
    table = delta.open_table(paths.table)
    held.confirm()
    try:
        deltalake.write_deltalake(
            table,
            rows,
            mode="overwrite",
            predicate=manifest.position.sql(manifest.differing),
            commit_properties=deltalake.CommitProperties(
                custom_metadata={
                    "userMetadata": json.dumps({history.REPAIR: change.repair_id}),
                },
                app_transactions=[deltalake.Transaction(change.transaction, 0)],
            ),
        )
    except CommitFailedError as error:
        raise TableContended(
            f"another writer changed {paths.table} during the swap: {_first(error)}",
            "Nothing was written. Swap again.",
        ) from None
    except DeltaError as error:
        raise SwapRefused(
            f"{paths.table} cannot take the rows of repair {change.repair_id}: {_first(error)}",
            "Nothing was written. Compute the range again; if the line is about a feature of the "
            "table, remove that feature.",
        ) from None
    found = history.repair_version(paths.table, change.repair_id, table.version() - 1)
    assert found is not None  # the lease is held: nobody took it back
    return found


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


def _refuse_features(paths: Paths, table: deltalake.DeltaTable) -> None:
    """Raise SwapRefused for a table with a feature that was not tried."""
    protocol = table.protocol()
    has = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    mapping = table.metadata().configuration.get(MAPPING, "none")
    unknown = sorted(has - WRITTEN) + ([] if mapping == "none" else [f"{MAPPING} = {mapping}"])
    if unknown:
        raise SwapRefused(
            f"{paths.table} has {', '.join(unknown)}, and a repair is written without Spark.",
            f"Remove it: ALTER TABLE delta.`{paths.table}` DROP FEATURE {unknown[0]}",
        )


def _stale(change: Exchange, why: str) -> StagingStale:
    return StagingStale(
        f"repair {change.repair_id} was computed for another state of the table: {why}.",
        "Compute the range again.",
    )


def _first(error: Exception) -> str:
    return str(error).splitlines()[0][:300].rstrip(". ") + "."
