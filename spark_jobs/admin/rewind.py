"""Rewind: goes back to the end of a batch. Restores the table to what it held then, and the next
drain reads from there.

It shows its changes before it makes them. The next run has a copy of the checkpoint, and a new
generation, so that Delta does not take its batches for those that it already has.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.admin.intent import Intent, after_what_was_begun
from spark_jobs.admin.restoring import (
    Restoring,
    TakenBack,
    mark_table,
    restorable,
    restore_table,
    restored_version,
    take_back,
    taken_back,
)
from spark_jobs.checkpoint.branch import branch, name_one
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.errors import LeaseHeld, StateUnreadable
from spark_jobs.journal.change import Change, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.ops import accounts, ops_tables
from spark_jobs.runs.verdict_on import Judged, verdict_on
from spark_jobs.settings.installation import Settings
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import needed
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from upath import UPath


class Rewind(Restoring):
    """What a rewind needs. Its generation is the next run's."""

    batch: int
    """The batch to whose end it goes back."""
    generations: tuple[str, ...]
    """Of the batches that it keeps, and of those that it takes back."""
    left: str
    """The name of the folder with Spark's checkpoint from before."""
    spark: str
    """Of that with a copy up to the batch, which is live then."""
    end: Positions
    """The offsets at which that batch ends."""
    audited: int
    """The newest batch that has its account then."""
    newest: tuple[tuple[str, datetime], ...] = ()
    """The cursor's newest event times of topics then."""
    judged: Judged
    """The newest verdict that is about rows which the table has then."""
    repairs: TakenBack


def rewind(spec: Pipeline, settings: Settings, batch: int) -> Intent:
    """Go back to the end of a committed batch.

    Raises StateUnreadable if the checkpoint no longer has its state, or the table its rows. When
    executed, raises LeaseHeld or LeaseLost.
    """
    paths = Paths(settings.root, spec)
    who = "sluice rewind"
    if first := after_what_was_begun(paths, who, lambda: rewind(spec, settings, batch)):
        return first
    known, facts = _facts(spec, paths, batch)
    checkpoint = Checkpoint(paths.checkpoint)

    def execute() -> None:
        with leased(paths, who) as held:
            now, again = _facts(spec, paths, batch)
            if now != known or again.version != facts.version:
                raise LeaseHeld.overtaken(
                    pipeline=spec.name, again=f"sluice rewind {spec.name} --to-batch {batch}"
                )
            # Before anything is changed: it may be damaged.
            read_failing(paths.failing)
            shown = again.model_copy(update={"spark": facts.spark})
            carry_out(REWIND, shown, paths, held, who)

    later = [planned for planned in checkpoint.planned() if planned > batch]
    return Intent(
        (
            f"{spec.name}: generation {known.generation}, batches up to "
            f"{max(checkpoint.planned())}",
            f"copy {paths.checkpoint} up to batch {batch} to {_now(facts, paths)}",
            f"restore {paths.table} to version {facts.version}, its content after batch {batch}",
            f"leave batches {later or 'none'} there, and remove them from the ops tables",
            *facts.repairs.lines,
            *_to_judge(batch, facts),
            f"the next drain reads from offsets {checkpoint.batch(batch).end}, with a new "
            "generation",
        ),
        execute,
    )


def _facts(spec: Pipeline, paths: Paths, batch: int) -> tuple[Identity, Rewind]:
    known = read_identity(paths)
    checkpoint = Checkpoint(paths.checkpoint)
    restorable = Integrity(checkpoint, stateful=spec.keeps_state).restorable_batches
    if known is None or spec.is_archive or not restorable:
        raise StateUnreadable.state_of_no_batch(pipeline=spec.name)
    if batch not in restorable:
        raise StateUnreadable.state_incomplete(
            pipeline=spec.name, batch=batch, first=restorable[0], last=restorable[-1]
        )
    _refuse_before_switch(paths, known, batch)
    version = history.version_after(table_of(paths), known.owners(spec.name), batch)
    _refuse_vacuumed(paths, version, batch)
    table_of(paths).refuse_unrestorable("sluice rewind")
    cursor = read_cursor(paths.cursor)
    rows = accounts.stored(paths, known, ("batch_id", "topics")) if cursor.newest else []
    kept, gone = (
        [row for row in rows if (row["batch_id"] > batch) == later] for later in (False, True)
    )
    return known, Rewind(
        batch=batch,
        generation=uuid.uuid4().hex[:12],
        generations=known.generations,
        left=paths.checkpoint.name,
        spark=name_one(),
        end=(end := checkpoint.batch(batch).end),
        version=version,
        audited=min(cursor.audited, batch),
        newest=accounts.without(cursor.newest, gone, kept),
        judged=verdict_on(paths, known, cursor, version, batch),
        repairs=taken_back(paths, known.generations, version, end, needed(spec)),
    )


def _to_judge(batch: int, facts: Rewind) -> tuple[str, ...]:
    if facts.judged.whole:
        return ()
    return (f"no verdict is about the rows after batch {batch}: the next drain judges them",)


def copy_checkpoint(facts: Rewind, scene: Scene) -> None:
    """Begin the folder. The one before stays as it is, and is dead."""
    paths = scene.paths
    branch(paths.version / facts.left, _now(facts, paths), facts.batch, scene.held.confirm)


def remove_accounts(facts: Rewind, scene: Scene) -> None:
    """Remove the later batches from the ops tables: of all generations, since an earlier rewind may
    have kept batches that this one does not.

    Also the row of a kept batch that a killed run did not tell the cursor of: the next run writes
    it again, in its own generation. Rejected records of such a batch stay: Kafka may have no more
    of them.
    """
    paths = scene.paths
    for name, last in (
        *(("batches", facts.audited), ("slices", facts.audited)),
        *(("late", facts.batch), ("quarantine", facts.batch)),
    ):
        of = paths.pipeline, facts.generations
        ops_tables.remove_after(paths.root, name, *of, last, scene.held)


def take_back_repairs(facts: Rewind, scene: Scene) -> None:
    """Let ops.repairs and ops.merged say which repairs the table has now."""
    take_back(scene.paths, facts.generations, facts.repairs, scene.held)


def move_cursor(facts: Rewind, scene: Scene) -> None:
    """Let the cursor say what is accounted for, and what the newest verdict on these rows is."""
    restored = restored_version(facts, scene)
    read_cursor(scene.paths.cursor).model_copy(
        update={
            "audited": facts.audited,
            "judged": facts.judged.batch,
            "open_records": None,
            "newest": facts.newest,
            "judged_table_version": restored if facts.judged.whole else facts.judged.table_version,
        }
    ).put(scene.paths.cursor, scene.held)


def move_failing(facts: Rewind, scene: Scene) -> None:
    """Forget the failing records of later batches."""
    path = scene.paths.failing
    if path.exists():
        kept = read_failing(path).up_to(facts.batch).read_again_from(facts.end)
        kept.put(path, scene.held)


def begin_generation(facts: Rewind, scene: Scene) -> None:
    """Store the new generation, after the kept batches', with the folder that is live then, and the
    number of state stores there: a repartition may be among what goes.
    """
    paths = scene.paths
    known = read_identity(paths)
    assert known is not None  # nobody else writes it
    if known.generation != facts.generation:
        number = Checkpoint(_now(facts, paths)).partitions(facts.batch)
        began = {"generation": facts.generation, "rewound": facts.generations}
        now = known.with_partitions(number).in_folder(facts.spark).model_copy(update=began)
        now.put(paths.identity, scene.held)


REWIND = Change(
    "rewind",
    Rewind,
    lambda facts: f"a rewind to the end of batch {facts.batch}",
    # The cursor says what is accounted for, so the ops tables come before it. The identity lets
    # the next run in, so it comes after all that a run needs.
    (
        restore_table,
        copy_checkpoint,
        mark_table,
        remove_accounts,
        take_back_repairs,
        move_cursor,
        move_failing,
        begin_generation,
    ),
    restorable,
)


def _now(facts: Rewind, paths: Paths) -> UPath:
    return paths.version / facts.spark


def _refuse_before_switch(paths: Paths, known: Identity, batch: int) -> None:
    """Raise StateUnreadable for a batch that a rebuild ran beside the table: no version of the
    table has the rows after it.
    """
    began = None
    for done, entry in history.commits(table_of(paths), known.owners(paths.pipeline)):
        if done <= batch:
            return
        began = done, entry
    if began is None or not history.is_switch(began[1]):
        return
    raise StateUnreadable.inside_rebuild(
        last=began[0],
        table=paths.table,
        version=began[1].version,
        batch=batch,
        pipeline=paths.pipeline,
    )


def _refuse_vacuumed(paths: Paths, version: int, batch: int) -> None:
    """Raise StateUnreadable if VACUUM, or a clean-up of the log, removed what the version needs."""
    if table_of(paths).is_whole(version):
        return
    name = paths.pipeline
    raise StateUnreadable.content_gone(
        version=version,
        table=paths.table,
        batch=batch,
        pipeline=name,
    )
