"""Switch: the state version that was computed beside becomes the live one, or the one before again.

All preconditions first; then the note (checkpoint/notes/switching.py); then steps that may each be
done twice, of which one is the table's commit and the last says which version drains. A kill before
the note has changed nothing. After it, the next drain completes the rest, since from the commit on
the table has the rows of a checkpoint that is not the live one yet.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import failpoint
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.lease import HeldLease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import CLOSED, Live, Replaced, not_live, read_live
from spark_jobs.checkpoint.notes.switching import Switching, read_switching
from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.errors import RebuildRefused
from spark_jobs.journal.runner import leased
from spark_jobs.rebuild.commit import Content, content, replace_content
from spark_jobs.rebuild.files import put_beside
from spark_jobs.rebuild.ops_rows import put_rows
from spark_jobs.rebuild.ready import Ready, ready, ready_back
from spark_jobs.rebuild.side import side_paths
from spark_jobs.root.paths import Paths
from spark_jobs.sink import history, table
from spark_jobs.sink.table import identifier
from spark_jobs.storage.delta import version_is_whole
from spark_jobs.storage.folders import move_folder, remove_folder
from spark_jobs.storage.object_store import require_writable

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline

LOG = logging.getLogger(__name__)


def switch(spec: Pipeline, following: Pipeline, root: str, run_id: str) -> Live:
    """Let NEXT's state version, which the side root has, drain the live table from now on.

    `spec` is the one that drains now. Raises RebuildRefused, LeaseHeld, LeaseLost, or what is wrong
    with either checkpoint; then nothing is changed.
    """
    live, paths = Paths(root, spec), Paths(root, following)
    require_writable(live)
    side = side_paths(paths, following)
    with leased(spec, live, run_id) as held:
        with leased(
            following, side, run_id
        ):  # up to the last step: a batch after the note would be lost
            found = ready(live, paths, side)
            note = _note(found, following.state.version, spec, back=False)
            note.write(paths.switching)
            failpoint.at("switching")
            _take(paths, side, note, held)
        return _ended(following, paths, note)


def switch_back(spec: Pipeline, former: Pipeline, root: str, run_id: str) -> Live:
    """Let the state version drain again that the last switch replaced, and give the table the rows
    that it had then.

    `spec` is the one that drains now, `former` that of the version before. Raises as `switch`.
    """
    live, paths = Paths(root, spec), Paths(root, former)
    require_writable(live)
    with leased(spec, live, run_id) as held:
        found = ready_back(live, paths)
        note = _note(found, former.state.version, spec, back=True)
        note.write(paths.switching)
        failpoint.at("switching")
        _take(paths, side_paths(paths, former), note, held)
        return _ended(former, paths, note)


def complete(spec: Pipeline, paths: Paths, held: HeldLease) -> Live | None:
    """Complete a switch that was cut off; None if there is none. The pipeline's lease is held.

    `spec` is the one whose state version the note names, `paths` its own.
    """
    note = read_switching(paths.switching)
    if note is None:
        return None
    if note.version != spec.state.version:
        raise not_live(note.version, spec, None)
    side = side_paths(paths, spec)
    own = (
        nullcontext()
        if note.back or not side.lease.parent.exists()
        else leased(spec, side, "switch")
    )
    with own:
        _take(paths, side, note, held)
    return _ended(spec, paths, note)


def _take(paths: Paths, side: Paths, note: Switching, held: HeldLease) -> None:
    for step in _Switch(paths, side, note, held.confirm).steps():
        step()
        failpoint.at("switching")


def _ended(spec: Pipeline, paths: Paths, note: Switching) -> Live:
    if not note.back:
        remove_folder(paths.rebuild)
    paths.switching.unlink()
    fact = read_live(paths.live)
    assert fact is not None  # the last step wrote it
    LOG.info(
        "%s: state version %d drains since %s, in table version %d",
        spec.name,
        fact.version,
        f"{fact.since:%F %H:%M:%S} UTC",
        fact.table_version,
    )
    return fact


def _note(found: Ready, version: int, spec: Pipeline, *, back: bool) -> Switching:
    return Switching(
        switch_id=uuid.uuid4().hex[:12],
        began=datetime.now(UTC),
        back=back,
        version=version,
        replaced=spec.state.version,
        rows_of=found.rows_of,
        table_version=found.table_version,
        generation=found.generation,
        next_generation=found.next_generation,
        batch=found.batch,
    )


class _Switch(NamedTuple):
    """The steps of a switch. Each may be done again after it was done, or was cut off."""

    paths: Paths
    """Of the version that is to drain."""
    side: Paths
    note: Switching
    confirm: Callable[[], None]

    def steps(self) -> tuple[Callable[[], object], ...]:
        """The steps in their order: rows, then all that a run of the new version needs, then the
        fact that lets it in.
        """
        fact = read_live(self.paths.live)
        if fact is not None and fact.version == self.note.version:
            return ()
        if self.note.back:
            return (self.look_again, self.commit, self.put_aside, self.move_cursor, self.tell)
        return (
            self.close_side,
            self.put_files,
            self.commit,
            self.put_ops_rows,
            self.move_checkpoint,
            self.name_state,
            self.move_identity,
            self.move_cursor,
            self.tell,
        )

    @property
    def rows(self) -> Content:
        of = self.paths.table if self.note.back else self.side.table
        return content(of, self.note.rows_of)

    @property
    def version(self) -> int:
        """The table's version that the switch committed: nothing is committed twice."""
        owner = f"{self.paths.table.name}/{self.note.next_generation}"
        return replace_content(self.paths.table, self.note, self.rows, owner, self.confirm)

    def close_side(self) -> None:
        """Let no run go on beside: the live table would not get its rows.

        Raises RebuildRefused, and forgets the switch, if one has since the note was written.
        """
        fact = read_live(self.side.live)
        if fact is not None and fact.version == CLOSED:
            return
        newest = Checkpoint(self.side.checkpoint).planned()[-1:]
        if newest != [self.note.batch] or table.version(self.side.table) != self.note.rows_of:
            self._forget("the rebuild went on after its switch had begun")
        Live(version=CLOSED, since=self.note.began, table_version=0, batch=-1).write(self.side.live)

    def look_again(self) -> None:
        """On the way back: look whether the rows of before are still there.

        Raises RebuildRefused, and forgets the switch, if VACUUM came after the note.
        """
        here, since = self.paths.table, self.note.table_version
        made = history.switch_version(here, self.note.switch_id, since)
        if made is None and not version_is_whole(here, self.note.rows_of):
            self._forget(f"version {self.note.rows_of} of {here} is gone by now")

    def _forget(self, why: str) -> None:
        self.paths.switching.unlink()
        raise RebuildRefused(
            f"{self.paths.pipeline}: {why}. Nothing is switched.",
            f"See what there is to do: sluice rebuild {self.paths.pipeline}",
        )

    def put_files(self) -> None:
        """Put the side table's files where the live one's are."""
        put_beside(self.rows.files, self.side.table, self.paths.table, self.confirm)

    def commit(self) -> None:
        """Let readers see the rows: the one commit."""
        LOG.info("%s: the switch is version %d", self.paths.table, self.version)

    def put_ops_rows(self) -> None:
        """Let the ops tables have the account of the new version's batches."""
        known = self._identity()
        put_rows(self.side, self.paths, known.generations, self.version)

    def move_checkpoint(self) -> None:
        """Move the checkpoint, with all beside it, to where that of its state version is."""
        if self.side.version.exists():
            move_folder(self.side.version, self.paths.version, self.confirm)

    def name_state(self) -> None:
        """Let Spark find the state's schemas where they are now."""
        follow(self.paths.checkpoint, self.confirm)

    def move_identity(self) -> None:
        """Let the checkpoint say that this table is its own."""
        ours = {"table_id": identifier(self.paths.table)}
        self._identity().model_copy(update=ours).write(self.paths.identity)

    def move_cursor(self) -> None:
        """Let the rows count as accounted for, and as judged if they were before."""
        cursor, version = read_cursor(self.paths.cursor), self.version
        moved = {"table_version": version}
        if cursor.judged == cursor.audited and cursor.judged_table_version is not None:
            moved["judged_table_version"] = version
        cursor.model_copy(update=moved).write(self.paths.cursor)

    def put_aside(self) -> None:
        """On the way back: keep the checkpoint that drained last under another name."""
        folder = self.paths.version.with_name(f"v{self.note.replaced}")
        if folder.exists():
            kept = folder.with_name(f"{folder.name}.kept-{self.note.began:%Y%m%dT%H%M%S}")
            move_folder(folder, kept, self.confirm)

    def tell(self) -> None:
        """Say which state version drains."""
        replaced = Replaced(
            version=self.note.replaced,
            generation=self.note.generation,
            table_id=identifier(self.paths.table),
            table_version=self.note.table_version,
        )
        Live(
            version=self.note.version,
            since=self.note.began,
            table_version=self.version,
            batch=self.note.batch,
            before=None if self.note.back else replaced,
        ).write(self.paths.live)

    def _identity(self) -> Identity:
        """Of the version that is to drain, before or after its checkpoint is moved."""
        here = self.paths.identity
        return Identity.read(here if here.exists() else self.side.identity)
