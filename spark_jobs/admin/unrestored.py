"""Unrestored: a person's RESTORE of the table taken back, so that it has again what Sluice had
written. `sluice doctor` does it. A rewind is for who wants to keep the RESTORE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.admin.restoring import (
    Restoring,
    mark_table,
    restorable,
    restore_table,
    restored_version,
)
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import LeaseHeld
from spark_jobs.journal.change import Change, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.sink.restored import did, restored
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.cursor import Cursor
    from spark_jobs.sink.restored import Restored
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


class Unrestored(Restoring):
    """What it needs. Its version is the one from before the RESTORE."""

    passed: bool
    """Whether the rows of that version have passed the checks."""


def to_mend(paths: Paths, cursor: Cursor) -> Restored | None:
    """The RESTORE that is to be mended; None without one."""
    if not table_of(paths).exists():
        return None
    passed = cursor.judged_table_version
    return restored(table_of(paths), -1 if passed is None else passed)


def can_unrestore(paths: Paths, found: Restored) -> bool:
    """Whether a version has all that Sluice has written, and can be read."""
    return not found.written_behind and table_of(paths).is_whole(found.whole)


def in_words(paths: Paths, found: Restored) -> str:
    """What is to be done."""
    newest = table_of(paths).version()
    later = history.rows_changed(table_of(paths), found.version, newest)
    return (
        f"restore {paths.table} to version {found.whole}, from before a person's RESTORE. "
        f"{did(paths, found)}"
        f"{f' Rows that were changed up to version {newest} go.' if later else ''}"
    )


def unrestore(
    spec: Pipeline, paths: Paths, known: Identity, found: Restored, who: str
) -> Callable[[], None]:
    """What gives the table the rows from before the RESTORE.

    It raises LeaseHeld if somebody was there first.
    """
    table_of(paths).refuse_unrestorable("taking a RESTORE back")
    newest = table_of(paths).version()

    def execute() -> None:
        with leased(paths, who) as held:
            cursor = read_cursor(paths.cursor)
            now = table_of(paths).version()
            if now != newest or to_mend(paths, cursor) != found:
                raise LeaseHeld.overtaken(pipeline=spec.name, again=f"sluice doctor {spec.name}")
            passed = cursor.judged_table_version
            facts = Unrestored(
                version=found.whole,
                generation=known.generation,
                passed=passed is not None
                and not history.rows_changed(table_of(paths), passed, found.whole),
            )
            carry_out(UNRESTORED, facts, paths, held, who)

    return execute


def move_cursor(facts: Unrestored, scene: Scene) -> None:
    """Let the rows count as passed if they had. Else the next drain judges what had not."""
    if facts.passed:
        passed = {"judged_table_version": restored_version(facts, scene)}
        cursor = read_cursor(scene.paths.cursor).model_copy(update=passed)
        cursor.put(scene.paths.cursor, scene.held)


UNRESTORED = Change(
    "unrestored",
    Unrestored,
    lambda facts: f"the return of the table to version {facts.version}",
    (restore_table, mark_table, move_cursor),
    restorable,
)
