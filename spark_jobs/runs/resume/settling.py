"""Settling: what a drain, or the command that moves state, does first about a moved root."""

from __future__ import annotations

from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.root.paths import Paths
from spark_jobs.storage.lease_view import Held


def settle(paths: Paths, held: Held) -> tuple[str, ...]:
    """Let the checkpoint name its own files, under the pipeline's lease; lines of what was done."""
    if not follow(paths.checkpoint, held.confirm):
        return ()
    return (
        f"{paths.pipeline}: the root was moved to {paths.root}: the notes of its checkpoint name "
        "it now",
    )
