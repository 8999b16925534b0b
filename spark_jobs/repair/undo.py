"""Undo: puts the rows back that a repair has replaced, by a swap of its own; rejects a repair that
is only staged; and finds a swap or an undo that no journal knows.

Not by Delta's RESTORE: that would take later drains back too. Nor by the table's older files:
VACUUM may have removed them. The staging has the rows that the repair wrote, and those it replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.begun import has_journal
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import CheckpointBroken, RepairUnknown, SwapRefused
from spark_jobs.journal.change import Change, Scene
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.repair.exchange.exchange import (
    Exchange,
    Exchanged,
    Once,
    commit,
    exchange,
    is_going_in,
    move_cursor as pass_with_base,
    once,
    stands,
)
from spark_jobs.repair.manifest import Manifest, read_manifest
from spark_jobs.repair.swap import SWAP, Swapped, described, since
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.runs.verdict_on import verdict_on
from spark_jobs.spec.analysis.ranged import needed
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import joined

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline


def undo(spec: Pipeline, root: str, repair_id: str, run_id: str) -> Swapped:
    """Give the table the rows from before a repair, and let its late and replayed
    records wait again.

    It may be repeated, and does nothing twice. Raises RepairUnknown if the staged rows are gone;
    SwapRefused if the repair is not in the table; RepairOverlapped if a later one has a range in
    common with it; StagingStale if somebody changed the rows since; LeaseHeld, LeaseLost or
    TableContended.
    """
    paths = Paths(root, spec)
    wanted = Once(UNDO, frozenset({"swapped"}), partial(_take_out, spec))
    manifest, done = once(paths, repair_id, run_id, wanted)
    return Swapped(
        repair_id,
        "undone",
        done.version,
        manifest.removed,
        manifest.added,
        manifest.changed,
        0,
        done.passed,
        done.leased_seconds,
    )


def _take_out(spec: Pipeline, paths: Paths, manifest: Manifest, run_id: str) -> Exchanged:
    row = repairs.one(paths.root, paths.pipeline, manifest.repair_id)
    if row is None or row["state"] != "swapped":
        state = "not recorded" if row is None else row["state"]
        raise SwapRefused.nothing_swapped_in(
            repair=manifest.repair_id, pipeline=paths.pipeline, state=state
        )
    facts = Exchange(
        manifest=manifest,
        commit_id=f"{manifest.repair_id}{UNDO}",
        compared_at=row["table_version"],
        copies=joined(map(needed(spec), manifest.spans)),
    )
    return exchange(paths, UNDONE, facts, unit_of(spec).take_out, run_id)


def record(facts: Exchange, scene: Scene) -> None:
    """Write the undo's own row, then that the repair is undone."""
    paths, manifest = scene.paths, facts.manifest
    version = facts.version(paths)
    row = repairs.one(paths.root, manifest.pipeline, manifest.repair_id)
    if version is None or row is None:
        return  # a rewind has taken it back: the repair is in the table again
    undone = {
        "pipeline": manifest.pipeline,
        "repair_id": facts.commit_id,
        "generation": manifest.generation,
        **described(manifest),
        "added": manifest.removed,
        "removed": manifest.added,
        "state": "swapped",
        "table_version": version,
        "table_version_before": version - 1,
        "swapped_at": since(paths, version),
    }
    repairs.put(paths.root, [undone], scene.held)
    known = read_identity(paths)
    generations = known.generations if known else (manifest.generation,)
    repairs.end(paths.root, [row], generations, "undone", facts.copies, scene.held)


def move_cursor(facts: Exchange, scene: Scene) -> None:
    """Let the commit count as passed, if the rows that it gives back had passed: the repair may
    have mended rows that failed.
    """
    paths = scene.paths
    known, cursor = read_identity(paths), read_cursor(paths.cursor)
    if known and verdict_on(paths, known, cursor, facts.compared_at - 1, cursor.judged).whole:
        pass_with_base(facts, scene)


UNDONE = Change(
    "undo",
    Exchange,
    lambda facts: f"the undo of repair {facts.manifest.repair_id}",
    (commit, record, move_cursor),
    stands,
)


def unnoted(paths: Paths) -> Iterator[tuple[Change[Exchange], Exchange]]:
    """Those that are to be completed, oldest first. Reads the log only where a repair waits for its
    swap, or could have been undone.

    Raises CheckpointBroken if what one needs is gone.
    """
    waiting = _waiting(paths)
    if not waiting or not table_of(paths).exists():
        return
    said = (each.said.get(history.REPAIR) for each in history.ours(table_of(paths)))
    for change_id in reversed([each for each in said if each in waiting]):
        row, repair = waiting[change_id], change_id.removesuffix(UNDO)
        try:
            manifest = read_manifest(paths, repair)
        except RepairUnknown:
            raise CheckpointBroken.repair_unnoted(
                repair=repair,
                table=paths.table,
                folder=paths.staging(repair),
                pipeline=paths.pipeline,
            ) from None
        undone = change_id != repair
        at = row["table_version"] if undone else manifest.table_version
        facts = Exchange(manifest=manifest, commit_id=change_id, compared_at=at)
        yield UNDONE if undone else SWAP, facts


def _waiting(paths: Paths) -> dict[str, Row]:
    known = read_identity(paths)
    if known is None:
        return {}
    ours = ops_tables.among("generation", known.generations)
    rows = {row["repair_id"]: row for row in repairs.stored(paths.root, paths.pipeline, ours)}
    staged = {each: row for each, row in rows.items() if row["state"] == "staged"}
    return staged | {
        f"{each}{UNDO}": row
        for each, row in rows.items()
        if row["state"] == "swapped" and not each.endswith(UNDO) and f"{each}{UNDO}" not in rows
    }


LOG = logging.getLogger(__name__)


def reject(paths: Paths, repair_id: str, who: str) -> None:
    """Write to ops.repairs that it is rejected, and to its manifest by whom and when: it is not
    swapped in any more, and coverage does not say that it waits. Does nothing to one that is not
    staged.

    Raises SwapRefused if a swap of it has begun.
    """
    try:
        manifest = read_manifest(paths, repair_id)
    except RepairUnknown:  # no swap has had what it needs
        manifest = None
    left = () if has_journal(paths) else unnoted(paths)
    if is_going_in(paths, repair_id) or any(f.commit_id == repair_id for _, f in left):
        raise SwapRefused.swap_begun(repair=repair_id, pipeline=paths.pipeline)
    row = repairs.one(paths.root, paths.pipeline, repair_id)
    if row is None or row["state"] != "staged":
        state = "not recorded" if row is None else row["state"]
        LOG.warning("%s: repair %s is %s, and stays so", paths.pipeline, repair_id, state)
        return
    if manifest:  # first: a swap that has read it before finds another one before its commit
        answer = {"rejected_by": who, "rejected_at": datetime.now(UTC)}
        path = paths.staging(repair_id) / "manifest.json"
        manifest.model_copy(update=answer).write(path)
    if is_going_in(paths, repair_id):
        raise SwapRefused.swap_begun(repair=repair_id, pipeline=paths.pipeline)
    repairs.put(paths.root, [row | {"state": "rejected"}])
    LOG.info("%s: repair %s is rejected by %s", paths.pipeline, repair_id, who)
