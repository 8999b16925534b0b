"""Rebuild: the note of a rebuild that has begun, in rebuild.json above the places."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import CheckpointBroken
from spark_jobs.root.live_place import Place
from spark_jobs.root.paths import Paths


class Begun(Stored):
    """The content of rebuild.json: what is rebuilt, where, and since when."""

    version: int
    """The state version."""
    replaces: int
    """The state version that drained when it began."""
    folder: str
    table: str
    fingerprint: dict[str, object]
    """Of NEXT, and what its records are classified with: see logic_of (rebuild/beside.py)."""
    topic_id: str
    began: datetime
    who: str

    @property
    def place(self) -> Place:
        return Place(self.folder, self.table, beside=True)


def read_begun(paths: Paths) -> Begun | None:
    """What is rebuilt; None if nothing is. Raises CheckpointBroken if it does not parse."""
    note = paths.rebuild
    try:
        return Begun.read(note) if note.exists() else None
    except ValueError:
        raise CheckpointBroken.rebuild_unreadable(note=note, pipeline=paths.pipeline) from None
