"""Rewind: goes back to the end of a batch. Restores the table to what it held then, and the next
drain reads from there.

It shows its changes before it makes them, and keeps the old files of the checkpoint. The next run
has a new generation, so that Delta does not take its batches for those that it already has. A
rewind that was cut off goes on if it is run again: each step finds what is done already.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import failpoint
from spark_jobs.admin.reset import Intent
from spark_jobs.admin.taken_back import take_back, taken_back, told
from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.failing import read_failing
from spark_jobs.checkpoint.identity import Identity, identity_amid_rewind
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.published import read_published
from spark_jobs.checkpoint.purge import purge
from spark_jobs.checkpoint.repartitioned import FIELD, forget_operators, uncounted
from spark_jobs.checkpoint.rewinding import Rewinding, cut_off, read_rewinding
from spark_jobs.contract.errors import LeaseHeld, StateUnreadable
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.ops import ops_tables
from spark_jobs.sink import history, table
from spark_jobs.storage import delta
from spark_jobs.storage.delta import version_is_whole
from spark_jobs.storage.folders import copy

if TYPE_CHECKING:
    from upath import UPath

LOG = logging.getLogger(__name__)


def rewind(spec: Pipeline, settings: Settings, batch: int) -> Intent:
    """Go back to the end of a committed batch, or go on with a rewind that was cut off.

    Raises StateUnreadable if the checkpoint no longer has its state, or the table its rows;
    CheckpointBroken if a rewind to an earlier batch was cut off.

    When executed, raises LeaseHeld or LeaseLost.
    """
    paths = Paths(settings.root, spec)
    known = identity_amid_rewind(paths)
    begun = read_rewinding(paths)
    if begun and batch > begun.batch:  # what is after that batch may be gone already
        raise cut_off(paths, begun)
    checkpoint = Checkpoint(paths.checkpoint)
    beyond = uncounted(paths, known.fingerprint.get(FIELD)) if known else None
    restorable = Integrity(checkpoint, beyond).restorable_batches
    if known is None or batch not in restorable:
        available = f"batches {restorable[0]} to {restorable[-1]}" if restorable else "no batch"
        raise StateUnreadable(
            f"the checkpoint of {spec.name} does not have the complete state after batch {batch}; "
            f"it has that of {available}.",
            f"Rewind to one of those, or start again: sluice reset {spec.name}",
        )
    _refuse_before_switch(paths, known, batch)
    later = [planned for planned in checkpoint.planned() if planned > batch]
    version = history.version_after(paths.table, known.owners(spec.name), batch)
    _refuse_vacuumed(paths, version, batch)
    note = _note(paths, begun, batch)
    end = checkpoint.batch(batch).end
    repaired = taken_back(paths, known.generations, version, end)

    def execute() -> None:
        with lease(paths.lease, "sluice rewind") as held:
            if read_rewinding(paths) != begun:
                raise LeaseHeld(
                    f"another rewind of {spec.name} has begun or ended since this one looked.",
                    f"See what there is to do now: sluice rewind {spec.name} --to-batch {batch}",
                )
            # Before anything is changed: each may be damaged.
            read_failing(paths.failing)
            read_cursor(paths.cursor)
            read_published(paths.published)
            note.write(paths.rewinding)
            failpoint.at("rewinding")
            for step in _Rewind(
                spec, paths, checkpoint, known, note, version, held.confirm
            ).steps():
                step()
                failpoint.at("rewinding")
            paths.rewinding.unlink()

    return Intent(
        (
            f"{spec.name}: generation {known.generation}, batches up to "
            f"{max(checkpoint.planned())}",
            *([f"continue the rewind to batch {begun.batch} that was cut off"] if begun else ()),
            f"copy {paths.version} to {_kept(paths, note)}",
            f"restore {paths.table} to version {version}, its content after batch {batch}",
            f"remove batches {later or 'none'} from the checkpoint and the ops tables",
            *told(repaired),
            f"the next drain reads from offsets {end}, with a new generation",
        ),
        execute,
    )


class _Rewind(NamedTuple):
    """The changes of a rewind. Each may be made again after it was made, or was cut off."""

    spec: Pipeline
    paths: Paths
    checkpoint: Checkpoint
    known: Identity
    """As it was stored when the rewind began, or was begun again."""
    note: Rewinding
    version: int
    """The table's version to restore."""
    confirm: Callable[[], None]

    def steps(self) -> tuple[Callable[[], None], ...]:
        """The changes in their order. The cursor says what is accounted for, so the ops tables come
        before it; the identity lets the next run in, so it comes after all that a run needs.
        """
        return (
            self.keep_files,
            self.restore_table,
            self.mark_table,
            self.remove_accounts,
            self.take_back_repairs,
            self.remove_entries,
            self.move_cursor,
            self.move_failing,
            self.move_published,
            self.begin_generation,
            self.purge_state,
        )

    def keep_files(self) -> None:
        """Copy the checkpoint and the files beside it."""
        if self.note.copied:
            return
        kept = _kept(self.paths, self.note)
        copy(self.paths.version, kept, self.confirm)
        (kept / self.paths.rewinding.name).unlink(missing_ok=True)
        self.note.model_copy(update={"copied": True}).write(self.paths.rewinding)

    def restore_table(self) -> None:
        """Give the table the rows that it had after the batch."""
        if self.version != table.version(self.paths.table):
            delta.restore(self.paths.table, self.version)

    def mark_table(self) -> None:
        """Give the table to the new generation."""
        if table.generation(self.paths.table) != self.note.generation:
            delta.set_property(self.paths.table, table.GENERATION, self.note.generation)

    def remove_accounts(self) -> None:
        """Remove the later batches from the ops tables: of all generations, since an earlier rewind
        may have kept batches that this one does not.

        Also the row of a kept batch that a killed run did not tell the cursor of: the next run
        writes it again, in its own generation. Rejected records of such a batch stay: Kafka may
        have no more of them.
        """
        batch = self.note.batch
        audited = min(batch, read_cursor(self.paths.cursor).audited)
        for name, last in (
            *(("batches", audited), ("slices", audited)),
            *(("late", batch), ("quarantine", batch)),
        ):
            ops_tables.remove_after(
                self.paths.root, name, self.paths.pipeline, self.known.generations, last
            )

    def take_back_repairs(self) -> None:
        """Let ops.repairs and ops.merged say which repairs the table has now."""
        end = self.checkpoint.batch(self.note.batch).end
        take_back(self.spec, self.paths, self.known.generations, self.version, end)

    def remove_entries(self) -> None:
        """Remove the later batches from the checkpoint's logs."""
        # In this order: Spark cannot resume from a commit without its offsets.
        for folder in ("commits", "offsets"):
            for path in [*(self.checkpoint.folder / folder).iterdir()]:
                # Also a checksum without its file: by it Hadoop would refuse the next entry of that
                # name.
                number = path.name.removeprefix(".").removesuffix(".crc")
                if number.isdigit() and int(number) > self.note.batch:
                    path.unlink()

    def move_cursor(self) -> None:
        """Let the cursor say what it said at the end of the batch."""
        batch = self.note.batch
        cursor = read_cursor(self.paths.cursor)
        restored = table.version(self.paths.table)
        cursor.model_copy(
            update={
                "audited": min(cursor.audited, batch),
                "judged": min(cursor.judged, batch),
                "open_records": None,
                "table_version": restored,
                "judged_table_version": restored
                if cursor.judged >= batch
                else cursor.judged_table_version,
            }
        ).write(self.paths.cursor)

    def move_failing(self) -> None:
        """Forget the failing records of later batches."""
        path = self.paths.failing
        if path.exists():
            read_failing(path).up_to(self.note.batch).write(path)

    def move_published(self) -> None:
        """Let the next event count from the batch at the latest."""
        told = read_published(self.paths.published)
        batches = {
            "batch": min(told.batch, self.note.batch),
            "before_batch": min(told.before_batch, self.note.batch),
        }
        told.model_copy(update=batches).write(self.paths.published)

    def begin_generation(self) -> None:
        """Store the new generation, after those of the kept batches, and the number of state stores
        that they have: a repartition may be among those that go.
        """
        forget_operators(self.checkpoint, self.note.batch)
        if self.known.generation != self.note.generation:
            began = {"generation": self.note.generation, "rewound": self.known.generations}
            now = self.known.with_partitions(self.checkpoint.partitions(self.note.batch))
            now.model_copy(update=began).write(self.paths.identity)
        # Its batch is gone, or it counted.
        self.paths.repartitioning.unlink(missing_ok=True)

    def purge_state(self) -> None:
        """Without an error: state that is left over is in nobody's way but the disk's."""
        try:
            purge(self.checkpoint, slack=0, later=True)
        except Exception as error:  # noqa: BLE001 - whatever the file system says
            LOG.warning(
                "%s: could not remove the state of later batches: %s", self.paths.pipeline, error
            )


def _note(paths: Paths, begun: Rewinding | None, batch: int) -> Rewinding:
    if begun:
        return begun.model_copy(update={"batch": batch})
    return Rewinding(
        batch=batch,
        generation=uuid.uuid4().hex[:12],
        kept=f"{paths.version.name}.kept-{datetime.now(UTC):%Y%m%dT%H%M%S%f}",
    )


def _kept(paths: Paths, note: Rewinding) -> UPath:
    return paths.version.with_name(note.kept)


def _refuse_before_switch(paths: Paths, known: Identity, batch: int) -> None:
    """Raise StateUnreadable for a batch that a rebuild ran beside the table: no version of the
    table has the rows after it.
    """
    began = None
    for done, entry in history.commits(paths.table, known.owners(paths.pipeline)):
        if done <= batch:
            return
        began = done, entry
    if began is None or not history.is_switch(began[1]):
        return
    raise StateUnreadable(
        f"a rebuild put batches 0 to {began[0]} into {paths.table} in one commit, version "
        f"{began[1]['version']}: it has no content after batch {batch}.",
        f"Rewind to batch {began[0]} or a later one; or go back to the logic before: `sluice "
        f"rebuild {paths.pipeline} --back`.",
    )


def _refuse_vacuumed(paths: Paths, version: int, batch: int) -> None:
    """Raise StateUnreadable if VACUUM, or a clean-up of the log, removed what the version needs."""
    if version_is_whole(paths.table, version):
        return
    name = paths.pipeline
    raise StateUnreadable(
        f"version {version} of {paths.table}, its content after batch {batch}, is gone: VACUUM or "
        "a clean-up of its log has removed files of it.",
        f"Rewind to a later batch, or start again: sluice reset {name}",
    )
