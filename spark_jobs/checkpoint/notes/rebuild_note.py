"""Rebuild: what is computed beside the live place, in rebuild.json above the places."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.errors import CheckpointBroken, LeaseLost, RebuildRefused
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.live_place import Place
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.stored import Stored


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
    ended: bool = False
    """Whether it was switched to, or discarded."""

    @property
    def place(self) -> Place:
        return Place(self.folder, self.table, beside=True)

    def begin(self, paths: Paths) -> None:
        """Put it over the note of the rebuild before. Raises RebuildRefused if another has begun
        one.
        """
        before = _note(paths)
        try:
            if before is None or before.ended:
                self.behind(before).put(paths.rebuild, None)
                return
        except LeaseLost:
            pass
        raise RebuildRefused.begun_meanwhile(pipeline=paths.pipeline)

    def end(self, paths: Paths, held: Held | None) -> None:
        """Let nothing be rebuilt, over this note. Raises LeaseLost."""
        self.model_copy(update={"ended": True}).put(paths.rebuild, held)


def read_begun(paths: Paths) -> Begun | None:
    """What is rebuilt; None if nothing is. Raises CheckpointBroken if it does not parse."""
    note = _note(paths)
    return None if note is None or note.ended else note


def _note(paths: Paths) -> Begun | None:
    try:
        return Begun.read(paths.rebuild)
    except FileNotFoundError:
        return None
    except ValueError:
        raise CheckpointBroken.rebuild_unreadable(
            note=paths.rebuild, pipeline=paths.pipeline
        ) from None
