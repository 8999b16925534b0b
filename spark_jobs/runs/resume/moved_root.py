"""Moved root: a checkpoint that was moved names the files where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.schema_notes import follow

if TYPE_CHECKING:
    from spark_jobs.runs.resume.settlers import Scene
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


def moved_root(scene: Scene) -> tuple[str, ...]:
    return name_own(scene.paths, scene.held)


def name_own(paths: Paths, held: Held) -> tuple[str, ...]:
    """Let the checkpoint name its own files, under the pipeline's lease; lines of what was done."""
    if not follow(paths.checkpoint, held.confirm):
        return ()
    return (
        f"{paths.pipeline}: the root was moved to {paths.root}: the notes of its checkpoint name "
        "it now",
    )
