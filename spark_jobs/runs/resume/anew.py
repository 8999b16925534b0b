"""Anew: a changed spec of a pipeline that has accepted nothing yet. There is no state to protect,
so the change is free: it begins in a new place, and the topic is read again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity, Present, Superseded, read_superseded
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import following
from spark_jobs.checkpoint.standing import Standing, standing
from spark_jobs.errors import SluiceError
from spark_jobs.journal.change import Change, GoesLive, Scene, go_live
from spark_jobs.journal.runner import carry_out
from spark_jobs.ops import accounts
from spark_jobs.source.sources import same_topics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.runs.resume.settlers import Scene as Settling


class Anew(NamedTuple):
    """Why the next drain begins anew."""

    known: Identity
    line: str
    """For people."""


def anew_due(now: Present, paths: Paths) -> Anew | None:
    """Whether the spec has changed, and nothing that was read before is accepted. Writes nothing.

    None also where a file does not tell, or a batch has no account: what is refused stays so, and
    the preflight says what is wrong with a file.
    """
    if paths.is_archive or paths.place.beside:  # a rebuild is discarded, if at all
        return None
    with suppress(SluiceError):
        return _due(standing(now, paths))
    return None


def _due(held: Standing) -> Anew | None:
    paths, known, changed = held.paths, held.stored, held.changes
    if known is None or not changed:
        return None
    read = _read_in_vain(paths, known)
    if read is None:
        return None
    topic = held.now.fingerprint["topic.name"]
    return Anew(
        known,
        f"{paths.pipeline}: the spec changed ({'; '.join(changed)}), and none of the {read:,} "
        f"records that were read is accepted, so no state depends on it: topic {topic} is read "
        "again from its beginning",
    )


def _read_in_vain(paths: Paths, known: Identity) -> int | None:
    """None unless it is certain that nothing came of them."""
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
    if table_of(paths).holds_rows():
        return None  # rows of a batch that is not committed, or of somebody else
    read: int = sum(row["read"] for row in rows)
    return read


class BeginAnew(GoesLive):
    """What it needs."""

    superseded: Superseded


def changed_spec(scene: Settling) -> tuple[str, ...]:
    """Let a new place be live where that is due; lines of what was done."""
    now, paths, held, run_id = scene
    due = anew_due(now, paths)
    if due is None:
        return ()
    before = read_superseded(paths)
    same = before is not None and same_topics(before.topic_id, due.known.topic_id)
    earlier = before.generations if before and same else ()
    place = paths.unused()
    facts = BeginAnew(
        live=following(paths, paths.state_version, place),
        superseded=Superseded(
            generations=(*earlier, *due.known.generations), topic_id=due.known.topic_id
        ),
    )
    carry_out(ANEW, facts, paths, held, run_id)
    return (due.line, f"{paths.pipeline}: begins anew in {paths.above / place.folder}")


def note_generations(facts: BeginAnew, scene: Scene) -> None:
    """Let the next runs know whose records they read again (upkeep.py)."""
    path = scene.paths.superseded
    facts.superseded.over(path).put(path, scene.held)


ANEW = Change(
    "anew",
    BeginAnew,
    lambda _: "a beginning with a changed spec",
    (note_generations, go_live),
    of_place=True,
)
