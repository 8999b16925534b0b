"""Anew: a changed spec of a pipeline that has accepted nothing yet. There is no state to protect,
so the change is free: checkpoint and empty table are moved aside, and the topic is read again.

A note comes before the first move (checkpoint/superseded.py), so that the next drain goes on where
one was killed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import failpoint
from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import Identity, changes_since, read_identity
from spark_jobs.checkpoint.lease import HeldLease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.superseded import Superseded, read_superseded
from spark_jobs.contract.errors import SluiceError
from spark_jobs.contract.paths import Paths, live_root
from spark_jobs.contract.spec import Pipeline
from spark_jobs.ops import accounts
from spark_jobs.published.data_folder import follow
from spark_jobs.sink import table
from spark_jobs.storage import delta
from spark_jobs.storage.folders import move, unfinished_moves
from spark_jobs.storage.object_store import require_writable

if TYPE_CHECKING:
    from upath import UPath


class Anew(NamedTuple):
    """Why the next drain begins anew."""

    known: Identity
    line: str
    """For people."""


def anew_due(spec: Pipeline, paths: Paths) -> Anew | None:
    """Whether the spec has changed, and nothing that was read before is accepted. Writes nothing.

    None also where a file does not tell, or a batch has no account: what is refused stays so, and
    the preflight says what is wrong with a file.
    """
    if spec.is_archive or live_root(paths.root) != paths.root:  # a rebuild is discarded, if at all
        return None
    with suppress(SluiceError):
        return _due(spec, paths)
    return None


def _due(spec: Pipeline, paths: Paths) -> Anew | None:
    known = read_identity(paths)
    changed = changes_since(spec, known, paths) if known else ()
    if known is None or not changed:
        return None
    read = _read_in_vain(paths, known)
    if read is None:
        return None
    return Anew(
        known,
        f"{spec.name}: the spec changed ({'; '.join(changed)}), and none of the {read:,} records "
        f"that were read is accepted, so no state depends on it: topic {spec.topic.name} is read "
        "again from its beginning",
    )


def _read_in_vain(paths: Paths, known: Identity) -> int | None:
    """How many records the checkpoint has read, if it is certain that nothing came of them."""
    committed = Checkpoint(paths.checkpoint).committed()
    last = committed[-1] if committed else -1
    cursor = read_cursor(paths.cursor)
    if cursor.audited != last or cursor.state.rows:
        return None
    columns = ("batch_id", "read", "accepted", "unknown", "rows_out")
    rows = accounts.stored(paths, known, columns)
    ids = [row["batch_id"] for row in rows]
    if max(ids, default=-1) > last or accounts.first_lacking(ids, -1, last) is not None:
        return None
    if any(row["accepted"] is None or row["rows_out"] is None for row in rows):
        return None
    if any(row["accepted"] or row["unknown"] or row["rows_out"] for row in rows):
        return None
    if delta.is_table(paths.table) and delta.open_table(paths.table).count():
        return None  # rows of a batch that is not committed, or of somebody else
    read: int = sum(row["read"] for row in rows)
    return read


def begin_anew(spec: Pipeline, paths: Paths, held: HeldLease) -> tuple[str, ...]:
    """Move checkpoint and table aside where that is due, or was begun; lines of what was done."""
    note, lines = read_superseded(paths), []
    if note is None or note.moved:
        due = anew_due(spec, paths)
        if due is None:
            return ()
        known, lines = due.known, [due.line]
        earlier = note.generations if note and note.topic_id == known.topic_id else ()
        note = Superseded(
            generations=(*earlier, *known.generations),
            topic_id=known.topic_id,
            kept=f"kept-{datetime.now(UTC):%Y%m%dT%H%M%S%f}",
        )
        held.confirm()
        note.write(paths.superseded)
        failpoint.at("anew.noted")
    lines += _moved(note, paths, held)
    held.confirm()
    require_writable(paths)  # whoever stores the new identity finds its folder
    note.model_copy(update={"moved": True}).write(paths.superseded)
    return tuple(lines)


def _moved(note: Superseded, paths: Paths, held: HeldLease) -> list[str]:
    """Make the moves that are left. On an object store `move` has a note of its own."""
    aside = {path: path.with_name(f"{path.name}.{note.kept}") for path in _theirs(note, paths)}
    moves = unfinished_moves(paths.moving) or [*aside.items()]
    for pair in moves:  # the table first: without its checkpoint nobody would know whose it is
        move([pair], paths.moving, held.confirm)
        failpoint.at("anew.moved")
    follow(paths, paths.table.with_name(f"{paths.table.name}.{note.kept}"))
    return [f"{paths.pipeline}: moved {old} to {new}" for old, new in moves]


def _theirs(note: Superseded, paths: Paths) -> list[UPath]:
    """What of the old generations is still in its place."""
    found = []
    if table.generation(paths.table) in note.generations:
        found.append(paths.table)
    if paths.identity.exists() and Identity.read(paths.identity).generation in note.generations:
        found.append(paths.version)
    return found
