"""Restoring: the table given the rows of an earlier version, by a rewind, or by who takes a
person's RESTORE back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import LeaseHeld, RepairUnknown, StateUnreadable
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.messages.kind import KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.repair.exchange.exchange import take_out_bad
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.repair.swap import put_fates
from spark_jobs.sink.restored import did, restored
from spark_jobs.source.positions import Positions
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import EVER, Span, joined

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.cursor import Cursor
    from spark_jobs.ops.schema import Row
    from spark_jobs.sink.restored import Restored
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class Restoring(Facts):
    """What the steps need."""

    version: int
    """The table's version to restore."""
    generation: str
    """The generation whose table it is then."""


def restore_table(facts: Restoring, scene: Scene) -> None:
    """Give the table the rows of the version, in a commit that names this change.

    Raises TableContended, or StateUnreadable if VACUUM has removed files of the version since
    somebody looked.
    """
    try:
        table_of(scene.paths).restore(facts.version, scene.id, scene.held)
    except LookupError:
        raise StateUnreadable.vacuumed_meanwhile(
            version=facts.version,
            path=scene.paths.table,
            pipeline=scene.paths.pipeline,
        ) from None


def restorable(facts: Restoring, scene: Scene) -> bool:
    """Whether the table has the rows of the version, or can have them yet."""
    return _committed(facts, scene) is not None or table_of(scene.paths).restores(facts.version)


def mark_table(facts: Restoring, scene: Scene) -> None:
    """Give the table to the generation: a RESTORE brings back the properties from then.
    Raises TableContended.
    """
    table_of(scene.paths).belong(facts.generation, scene.held, scene.id)


def restored_version(facts: Restoring, scene: Scene) -> int:
    """The version that has these rows now."""
    return _committed(facts, scene) or facts.version


def _committed(facts: Restoring, scene: Scene) -> int | None:
    return history.change_version(table_of(scene.paths), scene.id, facts.version)


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


class TakenBack(BaseModel):
    """By the ids of their rows in ops.repairs."""

    model_config = ConfigDict(frozen=True)

    repairs: tuple[str, ...]
    """Those that the table has no longer."""
    undos: tuple[str, ...]
    """Those that it has no longer, so that what they took back is there again."""
    back: tuple[str, ...]
    """Repairs that are there again by that, in the order of their versions."""
    lines: tuple[str, ...]
    """It in words, a line each, before it is done."""
    copies: tuple[Span, ...] = EVER
    """The event times of the copies that wait again too; all, if nobody said which."""


def taken_back(
    paths: Paths,
    generations: Sequence[str],
    version: int,
    end: Positions,
    reach: Callable[[Span], Span],
) -> TakenBack:
    """What came after that version of the table, and what has no version and was computed from
    records after `end`, the end of the batch to which it goes. `reach`: see ranged.needed.
    """
    rows = [
        *repairs.swapped_after(paths.root, paths.pipeline, generations, version),
        *_without_commit(paths, generations, end),
    ]
    undos = [row["repair_id"] for row in rows if row["repair_id"].endswith(UNDO)]
    back = [
        row
        for row in _rows(paths, [each.removesuffix(UNDO) for each in undos])
        if row["table_version"] <= version
    ]
    # Undos came newest first: a later repair takes out what an earlier one has put there.
    back.sort(key=lambda row: row["table_version"])
    return TakenBack(
        repairs=tuple(row["repair_id"] for row in rows if row["repair_id"] not in undos),
        undos=tuple(undos),
        back=tuple(row["repair_id"] for row in back),
        lines=_told(rows),
        copies=joined(
            reach(Span(each["start"], each["end"])) for row in rows for each in row["ranges"] or ()
        ),
    )


def _rows(paths: Paths, ids: Sequence[str]) -> list[Row]:
    found = (repairs.one(paths.root, paths.pipeline, each) for each in ids)
    return [row for row in found if row is not None]


def _told(rows: list[Row]) -> tuple[str, ...]:
    lines = (
        f"undo the undo of repair {row['repair_id'].removesuffix(UNDO)}, of table version "
        f"{row['table_version']}"
        if row["repair_id"].endswith(UNDO)
        else f"undo repair {row['repair_id']}, {_place(row)}: its {KINDS[row['kind']].taken_back}"
        for row in rows
    )
    return tuple(lines)


def _place(row: Row) -> str:
    version = row["table_version"]
    return "which changed no row" if version is None else f"of table version {version}"


def take_back(paths: Paths, generations: Sequence[str], taken: TakenBack, held: Held) -> None:
    """Write it to ops.repairs and ops.merged. Once done, there is nothing to do."""
    back = [row | {"state": "swapped"} for row in _rows(paths, taken.back)]
    # In this order. What later repairs took out of the rows is in them again, before those that
    # are back take out theirs. And an undo that has ended is not found again, after a kill in
    # between.
    repairs.end(paths.root, _rows(paths, taken.repairs), generations, "undone", taken.copies, held)
    for row in back:
        _restore_fates(paths, generations, row["repair_id"], held)
    repairs.put(paths.root, back, held)
    repairs.end(paths.root, _rows(paths, taken.undos), generations, "undone", taken.copies, held)


def _restore_fates(paths: Paths, generations: Sequence[str], repair_id: str, held: Held) -> None:
    """Of the records of a repair that is in the table again. Without its staging nothing says them:
    the next repair of its ranges finds that nothing differs, and writes them anew.
    """
    try:
        manifest = read_manifest(paths, repair_id)
    except RepairUnknown:
        return
    put_fates(paths, manifest, held)
    if manifest.newly_bad:
        take_out_bad(paths, manifest, generations, held)


def _without_commit(paths: Paths, generations: Sequence[str], end: Positions) -> list[Row]:
    """The repairs that found the table as they had computed it, from records after `end` too. Their
    version is none, and what ops.merged says of those records would be of records that the next
    drain reads anew.
    """
    of_these = ops_tables.among("generation", generations)
    found = repairs.stored(paths.root, paths.pipeline, f"{of_these} AND {repairs.WITHOUT_COMMIT}")
    return [row for row in found if end.before(Positions.of_json(row["horizon"]))]
