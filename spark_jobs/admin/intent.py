"""Intent: what a command would do, for a person to see before it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.journal.runner import settle

if TYPE_CHECKING:
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class Step(NamedTuple):
    """What a command does under the pipeline's lease."""

    line: str
    """It in words, for the user."""
    execute: Callable[[Held], object]
    """Does it."""


class Intent(NamedTuple):
    """What a command would do, and the function that does it."""

    lines: tuple[str, ...]
    """What it would do, for the user, a line each."""
    execute: Callable[[], tuple[str, ...] | None] | None
    """Does it, and may return what it did, a line each. None if there is nothing to do."""


def after_what_was_begun(paths: Paths, who: str, intend: Callable[[], Intent]) -> Intent | None:
    """The intent of completing what was begun, and of what the command does then, which nobody can
    tell before; None if nothing was begun.
    """
    note = under_way(paths)
    if note is None:
        return None

    def execute() -> tuple[str, ...] | None:
        settle(paths, who)
        then = intend()
        done = (then.execute() if then.execute else None) or ()
        return (f"completed {note.words}, which {note.by} had begun", *then.lines, *done)

    return Intent(
        (
            f"{paths.pipeline}: complete {note.words}, which {note.by} has begun at "
            f"{note.at:%F %H:%M:%S} UTC",
            "then what this command is for: what that is, can be seen when it is completed",
        ),
        execute,
    )
