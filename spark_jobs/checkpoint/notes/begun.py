"""Begun: the change of several steps that has begun, in journal.json. journal/ carries it out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.errors import CheckpointBroken, LeaseLost
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class Begun(Stored):
    """The content of journal.json."""

    change: str
    """Its name: a key of CHANGES (journal/runner.py)."""
    version: str
    """The folder of the state version that it changes."""
    id: str
    """By it a step finds in Delta's log what it has done."""
    by: str
    """The run or the command that began it."""
    fence: int | None = None
    """That of the lease under which it was begun, or ended."""
    at: datetime
    words: str
    """What it is, for who only reads."""
    facts: dict[str, Any]
    """All that its steps need, found before the first of them and never derived again."""
    done: tuple[str, ...] = ()
    """The steps that have ended. One that began may have had its effect too."""
    ended: bool = False
    more: bool = False
    """Whether a Sluice without a journal may have left half done what is not completed yet."""

    def begin(self, paths: Paths, held: Held, *, instead: bool = False) -> Begun:
        """Put it over the note of the change before. Raises LeaseLost.

        `instead`: over any note, also of a change that nobody can complete. So there is no moment
        at which that one is given up, and this one has not begun.
        """
        if instead:
            note = self.over(paths.journal)
        else:
            before = _note(paths)
            if before is not None and not before.ended:
                raise LeaseLost.change_elsewhere(path=paths.journal)
            note = self.behind(before)
        note.put(paths.journal, held)
        return note

    def end(self, paths: Paths, held: Held) -> None:
        """Let nothing be under way, over this note. Raises LeaseLost."""
        ended = {"facts": {}, "done": (), "fence": held.fence, "ended": True}
        self.model_copy(update=ended).put(paths.journal, held)


def settle(paths: Paths, held: Held) -> None:
    """Let what a holder before this one comes to begin be refused: nothing is under way, and the
    note has this one's number. On a disk nobody comes late.
    """
    none = Begun(
        change="",
        version="",
        id="",
        by="",
        fence=0,
        at=datetime.now(UTC),
        words="nothing",
        facts={},
        ended=True,
    )
    note = _note(paths)
    if note is None or note.more or note.fence != held.fence:
        (note or none).model_copy(update={"more": False}).end(paths, held)


def has_journal(paths: Paths) -> bool:
    """Whether a Sluice with a journal has held the lease, and completed what one without left.
    Raises as `under_way`.
    """
    note = _note(paths)
    return note is not None and not note.more


def under_way(paths: Paths) -> Begun | None:
    """The change that has begun and not ended; None without one.

    Raises CheckpointBroken if the note does not parse, FormatNewer.
    """
    note = _note(paths)
    return None if note is None or note.ended else note


def _note(paths: Paths) -> Begun | None:
    """The note that is there, also of a change that has ended. Raises as `under_way`."""
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
            change=note.words, began=note.at, by=note.by, pipeline=paths.pipeline
        )
