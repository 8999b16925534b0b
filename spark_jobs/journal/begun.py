"""Begun: the note of a change that has begun and not ended, in journal.json above a pipeline's
checkpoints.

It is written under the lease before the first step, and removed behind the last.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import CheckpointBroken, LeaseLost
from spark_jobs.root.files import create_whole

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.root.paths import Paths


class Begun(Stored):
    """The content of journal.json."""

    change: str
    """Its name: a key of CHANGES (journal/changes.py)."""
    version: str
    """The folder of the state version that it changes."""
    id: str
    """By it a step finds in Delta's log what it has done."""
    by: str
    """The run or the command that began it."""
    fence: int | None = None
    """That of the lease under which it was begun."""
    at: datetime
    words: str
    """What it is, for who only reads."""
    facts: dict[str, Any]
    """All that its steps need, found before the first of them and never derived again."""
    done: tuple[str, ...] = ()
    """The steps that have ended. One that began may have had its effect too."""

    def begin(self, path: UPath) -> None:
        """Write it where there is none. An object store refuses a second one: LeaseLost."""
        try:
            create_whole(path, self.model_dump_json(indent=2))
        except FileExistsError:
            raise LeaseLost.change_elsewhere(path=path) from None


def under_way(paths: Paths) -> Begun | None:
    """The change that has begun and not ended; None without one.

    Raises CheckpointBroken if the note does not parse, FormatNewer.
    """
    try:
        return Begun.read(paths.journal)
    except FileNotFoundError:
        return None
    except ValueError:
        raise CheckpointBroken.journal_unreadable(
            path=paths.journal, pipeline=paths.pipeline
        ) from None


def refuse_under_way(paths: Paths) -> None:
    """Raise CheckpointBroken for who reads what the steps of a change write one after the other."""
    if note := under_way(paths):
        raise CheckpointBroken.change_half_done(
            change=note.words,
            began=note.at,
            by=note.by,
            pipeline=paths.pipeline,
        )
