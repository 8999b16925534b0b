"""Superseded: the note of generations without an accepted record, whose records another generation
reads again, in superseded.json above the checkpoint. Empty once it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.stored import Stored

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths


class Superseded(Stored):
    """The content of superseded.json."""

    generations: tuple[str, ...]
    """Their rows stay in ops.batches: what was read is accounted for there."""
    topic_id: str
    """Offsets of another topic are other records."""


def read_superseded(paths: Paths) -> Superseded | None:
    """The note; None without one. Raises CheckpointBroken if it does not parse."""
    try:
        note = Superseded.read(paths.superseded)
    except FileNotFoundError:
        return None
    except ValueError:
        raise checkpoint_broken(f"{paths.superseded} does not parse", paths.pipeline) from None
    return note if note.generations else None
