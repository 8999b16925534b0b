"""Swap: puts the staged rows of a repair into the table, in one commit, without a JVM."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from spark_jobs.errors import StagingStale, SwapRefused
from spark_jobs.journal.change import Change, Scene
from spark_jobs.ops import repairs
from spark_jobs.repair.exchange.exchange import (
    Exchange,
    Exchanged,
    Once,
    commit,
    exchange,
    move_cursor,
    once,
    put_bad,
    stands,
)
from spark_jobs.repair.exchange.preconditions import refuse_unready
from spark_jobs.repair.find.plan import digest
from spark_jobs.repair.manifest import Manifest, in_the_rows, read_manifest
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.storage.pin import as_json
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held

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
    leased_seconds: float
    """How long drains had to wait for it."""


def swap(spec: Pipeline, root: str, repair_id: str, run_id: str) -> Swapped:
    """Replace the rows of the spans that differ by the staged ones, under the pipeline's lease.

    It may be repeated, and does nothing twice. Raises RepairUnknown, ApprovalMissing, SwapRefused,
    StagingStale (compute it again), RepairOverlapped, LeaseHeld (a drain works), LeaseLost or
    TableContended.
    """
    paths = Paths(root, spec)
    try:
        manifest, done = once(paths, repair_id, run_id, Once("", SETTLED, partial(_put_in, spec)))
    except SwapRefused:
        with suppress(Exception):  # why it was refused is told
            _record_no(paths, repair_id)
        raise
    return Swapped(
        repair_id,
        "canonical" if done.version is None else "swapped",
        done.version,
        manifest.added,
        manifest.removed,
        manifest.changed,
        sum(in_the_rows(manifest.merged).values()),
        done.passed,
        done.leased_seconds,
    )


def _put_in(spec: Pipeline, paths: Paths, manifest: Manifest, run_id: str) -> Exchanged:
    refuse_unready(manifest, repairs.one(paths.root, spec.name, manifest.repair_id))
    refuse_other_spec(spec, manifest)
    facts = Exchange(
        manifest=manifest,
        commit_id=manifest.repair_id,
        compared_at=manifest.table_version,
    )
    return exchange(paths, SWAP, facts, unit_of(spec).put_in, run_id)


def refuse_other_spec(spec: Pipeline, manifest: Manifest) -> None:
    """Raise SwapRefused where today's spec says that nothing can be computed by itself: it takes
    back what the rows were computed by. StagingStale where spec or code are not those by which they
    were: drains write others by now.
    """
    name, repair = manifest.pipeline, manifest.repair_id
    if why := unit_of(spec).unranged:
        raise SwapRefused.ranges_unsupported_now(repair=repair, pipeline=name, why=why)
    if manifest.spec_digest and manifest.spec_digest != digest(spec):
        raise StagingStale.spec_changed_since_stage(pipeline=name, repair=repair)


def _record_no(paths: Paths, repair_id: str) -> None:
    """Let ops.repairs say the No of a manifest: who gave it was killed in between, or was told that
    a swap had begun, which then found the No.
    """
    row = repairs.one(paths.root, paths.pipeline, repair_id)
    if row and row["state"] == "staged" and read_manifest(paths, repair_id).rejected_by:
        repairs.put(paths.root, [row | {"state": "rejected"}])


def record(facts: Exchange, scene: Scene) -> None:
    """Write the rows of ops.merged and ops.repairs. What the staging wrote there stays."""
    paths, manifest = scene.paths, facts.manifest
    version = facts.version(paths)
    if manifest.differing and version is None:
        return  # a rewind has taken it back: nothing of it is in the table
    known = {"pipeline": manifest.pipeline, "repair_id": manifest.repair_id}
    known |= {"generation": manifest.generation}
    before = repairs.one(paths.root, manifest.pipeline, manifest.repair_id) or {}
    row = before | known | described(manifest) | in_the_rows(manifest.merged)
    row |= {
        "state": "canonical" if version is None else "swapped",
        "table_version": version,
        "table_version_before": manifest.table_version if version is None else version - 1,
        "swapped_at": before.get("swapped_at") or since(paths, version),
        "approved_by": manifest.approved_by,
        "inputs": as_json(manifest.inputs),
    }
    # Before it: a repair that is told to be there has lost no record.
    if manifest.newly_bad:
        put_bad(paths, manifest, scene.held)
    repairs.put(paths.root, [row], scene.held)
    put_fates(paths, manifest, scene.held)


SWAP = Change(
    "swap",
    Exchange,
    lambda facts: f"the swap of repair {facts.commit_id}",
    (commit, record, move_cursor),
    stands,
)


def since(paths: Paths, version: int | None) -> datetime:
    """Since when the table has the rows. Now, where no version was committed."""
    committed = None if version is None else history.committed_at(table_of(paths), version)
    return committed or datetime.now(UTC)


def put_fates(paths: Paths, manifest: Manifest, held: Held) -> None:
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
        held,
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
