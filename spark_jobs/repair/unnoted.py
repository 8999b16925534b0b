"""Unnoted: a swap or an undo that is in the table's log, and that neither the journal nor
ops.repairs knows: a Sluice without a journal was killed between the two.

A drain that passed it would publish its rows, and no event would ever have the repair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.errors import CheckpointBroken, RepairUnknown
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.repairs import UNDO
from spark_jobs.repair.exchange.exchange import Exchange
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.repair.swap import SWAP
from spark_jobs.repair.undo import UNDONE
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.journal.change import Change
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths


def unnoted(paths: Paths) -> Iterator[tuple[Change[Exchange], Exchange]]:
    """Those that are to be completed, oldest first. Reads the log only where a repair waits for its
    swap, or could have been undone.

    Raises CheckpointBroken if what one needs is gone.
    """
    waiting = _waiting(paths)
    if not waiting or not table_of(paths).exists():
        return
    said = (each.said.get(history.REPAIR) for each in history.ours(table_of(paths)))
    for commit in reversed([each for each in said if each in waiting]):
        row, repair = waiting[commit], commit.removesuffix(UNDO)
        try:
            manifest = read_manifest(paths, repair)
        except RepairUnknown:
            raise CheckpointBroken.repair_unnoted(
                repair=repair,
                table=paths.table,
                folder=paths.staging(repair),
                pipeline=paths.pipeline,
            ) from None
        undone = commit != repair
        at = row["table_version"] if undone else manifest.table_version
        facts = Exchange(manifest=manifest, commit_id=commit, compared_at=at)
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
