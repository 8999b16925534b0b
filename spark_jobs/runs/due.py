"""Due: from which version to which the next asset event tells, as the fact that goes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.published import Published, read_published
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.contract.paths import Paths

Announced = tuple[str, int]
"""Generation and table version of the asset's newest event; ("", -1) if there is none."""


def due(paths: Paths, announced: Announced | None = None) -> Published | None:
    """The fact that publish would write; None if consumers know of everything that passed.

    `announced` is None if the caller cannot know. An event begins at the newest version that was
    announced: one whose fact was written, and whose event Airflow never had, is in the next event.
    """
    cursor, known = read_cursor(paths.cursor), read_identity(paths)
    if known is None or cursor.judged < 0 or cursor.judged_table_version is None:
        return None
    last = _of_this_checkpoint(paths, known, read_published(paths.published))
    told = last.table_version if announced is None else _told(known, announced)
    if told is not None and cursor.judged_table_version <= told:
        return None  # behind a rewind the newest verdict may be of an older version
    if told == last.table_version:
        since = last.table_version, last.batch
    elif told == last.before_version:
        since = last.before_version, last.before_batch
    elif told is None:  # Airflow has lost its events: whether it had the last one nobody knows
        return last
    else:  # not what the fact says: an older Sluice wrote it, or a reset or a copy changed it
        batch = _newest_batch(paths, known.generations, f"AND table_version <= {told}")
        since = told, -1 if batch is None else batch
    return Published(
        table_version=cursor.judged_table_version,
        batch=cursor.judged,
        before_version=since[0],
        before_batch=min(since[1], cursor.judged),
        # Those of an event that Airflow never had are told again.
        tells_back=last.changed_back + (() if told == last.table_version else last.tells_back),
        generation=known.generation,
    )


def _told(known: Identity, announced: Announced) -> int | None:
    """The version that the newest event announced, None if it is another checkpoint's: after a
    reset versions begin at 0 again. A rewind goes on counting them.
    """
    generation, version = announced
    return version if generation in known.generations else None


def _of_this_checkpoint(paths: Paths, known: Identity, fact: Published) -> Published:
    """The fact, as far as it is about this checkpoint.

    Publish takes no lease, since a drain may hold it for hours. So it may have written the fact
    after a reset, or after a rewind, of what it had read before: then the fact is another
    checkpoint's, or names batches that the rewind has taken back.
    """
    if fact.generation in {"", known.generation}:
        return fact
    if fact.generation not in known.generations:
        return Published()
    until = known.generations.index(fact.generation) + 1
    # A rewind removes the rows of the batches that it takes back.
    kept = _newest_batch(paths, known.generations[:until])
    if kept is None:  # `sluice maintain` has removed their rows
        return fact
    batches = {"batch": min(fact.batch, kept), "before_batch": min(fact.before_batch, kept)}
    return fact.model_copy(update=batches)


def _newest_batch(paths: Paths, generations: tuple[str, ...], condition: str = "") -> int | None:
    """The newest of their batches in ops.batches, for which the condition holds; None if there is
    none.
    """
    [row] = ops_tables.query(
        paths.root,
        "batches",
        "SELECT max(batch_id) AS newest FROM batches "
        f"WHERE pipeline = '{paths.pipeline}' "
        f"AND {ops_tables.among('generation', generations)} {condition}",
    ).to_pylist()
    newest: int | None = row["newest"]
    return newest
