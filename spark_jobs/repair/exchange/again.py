"""Again: a stage of a repair that was staged before: a retry, or a task that a person cleared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.published import publisher
from spark_jobs.errors import StagingStale
from spark_jobs.journal.runner import leased
from spark_jobs.ops import repairs
from spark_jobs.repair.exchange.unready import refuse_ended
from spark_jobs.repair.manifest import read_manifest

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths


def refuse_done(paths: Paths, repair_id: str) -> None:
    """Raise StagingStale for a repair that is or was in the table, SwapRefused for one that a
    person has declined.
    """
    row = repairs.one(paths.root, paths.pipeline, repair_id)
    if row is not None and row["state"] not in {"staged", "failed"}:
        if row["state"] == "rejected":
            refuse_ended(read_manifest(paths, repair_id), row)
        told = f" {publisher(paths)}, if none has." if row["state"] == "swapped" else ""
        raise StagingStale.repair_ended(
            repair=repair_id, pipeline=paths.pipeline, state=row["state"], told=told
        )


def withdraw(paths: Paths, repair_id: str, run_id: str) -> None:
    """Let nobody swap in what an earlier try has staged: it is about to be replaced, and so is what
    ops.repairs says of it. Under the pipeline's lease, which a swap has too.

    Raises what `refuse_done` does, and LeaseHeld.
    """
    manifest = paths.staging(repair_id) / "manifest.json"
    if not manifest.exists():
        return
    with leased(paths, run_id):
        refuse_done(paths, repair_id)
        manifest.unlink(missing_ok=True)
