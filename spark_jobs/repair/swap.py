"""Swap: puts the staged rows of a repair into the table, in one commit, without a JVM."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.contract.errors import RepairUnknown
from spark_jobs.contract.paths import Paths
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.bad_rows import put_bad, take_out_bad
from spark_jobs.repair.exchange import Exchange, exchange
from spark_jobs.repair.manifest import Manifest, in_the_rows, read_manifest
from spark_jobs.repair.preconditions import Claim, in_table, transaction
from spark_jobs.repair.staging import new_rows
from spark_jobs.repair.unready import refuse_other_spec, refuse_unranged, refuse_unready
from spark_jobs.sink import history
from spark_jobs.storage import delta

if TYPE_CHECKING:
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.ops.schema import Row

SETTLED = frozenset({"canonical", "swapped"})
"""States of a repair that is in the table."""


class Swapped(NamedTuple):
    """What a swap did, or an undo."""

    repair_id: str
    state: Literal["swapped", "canonical", "undone"]
    table_version: int | None
    """The version that it committed; None where the table had these rows already."""
    added: int
    removed: int
    changed: int
    merged: int
    """Late and quarantined records that are in the rows now."""
    passed: bool
    """Whether the next publish shows it. If not, the next drain judges its rows first."""
    again: bool
    """Whether an earlier try had committed it, and this one completed the record."""
    leased_seconds: float
    """How long drains had to wait for it."""


def swap(spec: Pipeline, root: str, repair_id: str, run_id: str) -> Swapped:
    """Replace the rows of the spans that differ by the staged ones, under the pipeline's lease.

    It may be repeated, and does nothing twice. Raises RepairUnknown, ApprovalMissing, SwapRefused,
    StagingStale (compute it again), RepairOverlapped, LeaseHeld (a drain works), LeaseLost or
    TableContended.
    """
    complete_others(spec, root, repair_id, run_id)
    return _swapped(spec, root, repair_id, run_id)


def _swapped(spec: Pipeline, root: str, repair_id: str, run_id: str) -> Swapped:
    paths = Paths(root, spec)
    manifest = read_manifest(paths, repair_id)
    row = repairs.one(paths.root, spec.name, repair_id)
    # Of one that an earlier try has put into the table only the record may be missing. Neither the
    # spec nor a person can keep it out any more.
    if not _there(paths, manifest, row):
        refuse_unready(manifest, row)
        refuse_unranged(spec, manifest)
        refuse_other_spec(spec, manifest)
    done = exchange(
        paths,
        Exchange(
            Claim(repair_id, manifest, manifest.table_version),
            lambda columns: new_rows(paths, manifest, columns),
            lambda version: _record(paths, manifest, version),
        ),
        run_id,
    )
    return Swapped(
        repair_id,
        "canonical" if done.version is None else "swapped",
        done.version,
        manifest.added,
        manifest.removed,
        manifest.changed,
        sum(in_the_rows(manifest.merged).values()),
        done.passed,
        done.again,
        done.leased_seconds,
    )


def _there(paths: Paths, manifest: Manifest, row: Row | None) -> bool:
    settled = row is not None and row["state"] in SETTLED
    return settled or in_table(paths, manifest, row) is not None


def complete(spec: Pipeline, root: str, repair_id: str, run_id: str) -> None:
    """Complete the record of a swap that was killed behind its commit, if this repair has one. What
    is computed under its id again would be compared with rows that the table has no longer.

    Raises LeaseHeld while a drain works.
    """
    paths = Paths(root, spec)
    try:
        manifest = read_manifest(paths, repair_id)
    except RepairUnknown:  # nothing was staged yet, so nothing was swapped in
        return
    row = repairs.one(paths.root, spec.name, repair_id)
    if in_table(paths, manifest, row) is not None:
        _swapped(spec, root, repair_id, run_id)


def complete_others(spec: Pipeline, root: str, repair_id: str, run_id: str) -> None:
    """Do so for all repairs beside this one, which may find their rows in the table: what takes
    them out later must know whose they are, and that this one rests on them.
    """
    paths = Paths(root, spec)
    known = read_identity(paths)
    if known is None:
        return
    of_it = ops_tables.among("generation", known.generations)
    staged = repairs.stored(paths.root, spec.name, f"{of_it} AND state = 'staged'")
    others = [row for row in staged if row["repair_id"] != repair_id]
    if not others or not delta.is_table(paths.table):
        return
    table = delta.open_table(paths.table)
    for row in others:  # of nearly all of them the table's log knows nothing: they only wait
        name = transaction(spec.name, row["generation"], row["repair_id"])
        if table.transaction_version(name) is not None:
            complete(spec, root, row["repair_id"], run_id)


def _record(paths: Paths, manifest: Manifest, version: int | None) -> None:
    """Write the rows of ops.merged and ops.repairs. What the staging wrote there stays."""
    known = {"pipeline": manifest.pipeline, "repair_id": manifest.repair_id}
    known |= {"generation": manifest.generation}
    before = repairs.one(paths.root, manifest.pipeline, manifest.repair_id) or {}
    row = before | known | described(manifest) | in_the_rows(manifest.merged)
    row |= {
        "state": "canonical" if version is None else "swapped",
        "table_version": version,
        "table_version_before": None if version is None else version - 1,
        "swapped_at": before.get("swapped_at") or since(paths, version),
        "approved_by": manifest.approved_by,
    }
    # Before it: a repair that is told to be there has lost no record. And not again: a replay may
    # have brought one back since.
    if manifest.newly_bad and before.get("state") not in SETTLED:
        put_bad(paths, manifest)
    repairs.put(paths.root, [row])
    # After it: a rewind in between finds no fate of a repair that it does not know to be there.
    put_fates(paths, manifest)
    if version is not None:
        _let_later_ones_take_out(paths, manifest, version)


def since(paths: Paths, version: int | None) -> datetime:
    """Since when the table has the rows: whatever is told to have found them there came later, also
    where their own record was completed after a kill. Now, where no version was committed.
    """
    committed = None if version is None else history.committed_at(paths.table, version)
    return committed or datetime.now(UTC)


def _let_later_ones_take_out(paths: Paths, manifest: Manifest, version: int) -> None:
    """Of this repair's records: it may be told late that it is in the table, after a kill, when a
    later one has found some of them bad.
    """
    known = read_identity(paths)
    generations = known.generations if known else (manifest.generation,)
    for row in repairs.swapped_after(paths.root, manifest.pipeline, generations, version):
        with suppress(RepairUnknown):  # an undo, or its staging is kept no longer
            later = read_manifest(paths, row["repair_id"])
            if later.newly_bad:
                take_out_bad(paths, later, generations, manifest.repair_id)


def put_fates(paths: Paths, manifest: Manifest) -> None:
    """Let ops.merged say what became of the records of a repair that is in the table."""
    known = {
        "pipeline": manifest.pipeline,
        "repair_id": manifest.repair_id,
        "generation": manifest.generation,
    }
    repairs.put_merged(
        paths.root,
        manifest.pipeline,
        manifest.repair_id,
        [known | record.model_dump() for record in manifest.merged],
    )


def described(manifest: Manifest) -> Row:
    """What ops.repairs says of a repair, as its manifest has it."""
    return {
        "kind": manifest.kind,
        "ranges": [span._asdict() for span in manifest.spans],
        "differing": [span._asdict() for span in manifest.differing],
        "added": manifest.added,
        "removed": manifest.removed,
        "changed": manifest.changed,
        "unexplained": manifest.unexplained,
    }
