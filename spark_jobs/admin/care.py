"""Care: the steps of `sluice maintain` for a pipeline's table, for the archive of a topic, and for
places that nobody needs any more.

Versions that somebody may read stay whole: the published one and the one published before, those
that the published table has shown within the retention, the one from which the checks read what is
new, the one that was newest when the retention began, and those that batches of other pipelines
read beside their streams.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.intent import Step
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import GRACE, read_live
from spark_jobs.checkpoint.notes.noted_versions import noted_now, still_read
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.checkpoint.notes.removed import note_removed
from spark_jobs.errors import MaintenanceRefused, TableLacks
from spark_jobs.ops import outdated
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.spec.analysis.ranged import mended, unmended
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.live_place import SPARK, STAMP
from spark_jobs.table import history
from spark_jobs.table.port import RETENTION, Needed
from spark_jobs.table.published.table import has_shown, read_since, versions_read, versions_shown
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import DELETED, DELETED_AT
from spark_jobs.values.spans import microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from upath import UPath

    from spark_jobs.checkpoint.notes.live import Dead
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.port import Table

READERS = timedelta(days=30)
"""How long the rows stay, in the files that appended them, that a pipeline has not read which reads
the table as a topic: for longer the published table's log does not tell them.
"""
MARGIN = timedelta(days=1)
"""A file of a version's change feed may be older than the version, by as long as its write took."""


def needed(paths: Paths, now: datetime) -> Needed:
    """What readers and checks may still read of the pipeline's table."""
    cursor, published = read_cursor(paths.cursor), read_published(paths)
    begins, pins = now - RETENTION, [(p.table_id, p.version) for p in still_read(paths.root)]
    wanted = {
        cursor.judged_table_version,
        published.table_version,
        published.before_version,
        history.read_at(table_of(paths), begins),
        *_shown(paths, begins),
        *versions_read(paths, pins),
    }
    there = {
        version
        for version in wanted
        if version is not None and table_of(paths).has_version(version)
    }
    judged = cursor.judged_table_version
    passed_at = history.committed_at(table_of(paths), judged) if judged in there else None
    read_at = read_since(paths, pins)
    since = [at for at in (passed_at, read_at and max(read_at, now - READERS)) if at]
    return Needed(tuple(sorted(there)), min(since) - MARGIN if since else None)


def _shown(paths: Paths, begins: datetime) -> set[int]:
    """Only versions of before `begins`: files of later ones are kept by their age."""
    newest_before = history.newest_at(table_of(paths), begins)
    return {
        version
        for version in versions_shown(paths, begins)
        if newest_before is None or version <= newest_before
    }


def table_steps(paths: Paths, spec: Pipeline) -> Iterator[tuple[str, Callable[[], object]]]:
    """A line and a function for each step. For a table that is refused, one that says so."""
    if not (table := table_of(paths)).exists():
        return
    try:
        table.require("care", "sluice maintain")
        steps = table.care(spec, lambda: needed(paths, datetime.now(UTC)))
    except (MaintenanceRefused, TableLacks) as refusal:
        yield f"leave {paths.table}: {refusal}", partial(_raise, refusal)
    else:
        yield from steps


def _raise(error: Exception) -> None:
    raise error


class _Old(NamedTuple):
    """The first records of a partition."""

    topic_id: str
    partition: int
    stop: int
    """The first offset that stays."""
    records: int


def kept_steps(paths: Paths, before: datetime) -> Iterator[Step]:
    """A step, if the archive has records with a Kafka timestamp before this time
    ahead of all others of their partition. One whose timestamp is no time stays: how old it is
    nobody knows.
    """
    if (table := table_of(paths)).exists() and (old := _old(table, before)):
        records = sum(each.records for each in old)
        what = f"remove {records:,} records of {paths.table} from before {before:%F %H:%M}"
        yield Step(what, partial(_remove, paths, old))


def _old(table: Table, before: datetime) -> list[_Old]:
    # In numbers: delta-rs compares times in nanoseconds, and stops at one of the year 10000.
    recent = f"CAST(kafka_timestamp AS BIGINT) >= {microseconds(before)}"
    kept = f'CASE WHEN kafka_timestamp IS NULL OR {recent} THEN "offset" END'
    sql = (
        f'WITH ends AS (SELECT topic_id, "partition", coalesce(min({kept}), max("offset") + 1) '
        'AS stop FROM t GROUP BY topic_id, "partition") '
        'SELECT t.topic_id, t."partition", ends.stop, count(*) AS records FROM t JOIN ends '
        'ON t.topic_id = ends.topic_id AND t."partition" = ends."partition" '
        'AND t."offset" < ends.stop GROUP BY 1, 2, 3 ORDER BY 1, 2'
    )
    return [_Old(**row) for row in table.query(sql).to_pylist()]


def _remove(paths: Paths, old: list[_Old], held: Held) -> None:
    known = read_identity(paths)
    note_removed(
        paths,
        {
            each.partition: [(0, each.stop)]
            for each in old
            if known is not None and each.topic_id == known.topic_id
        },
        held,
    )
    where = " OR ".join(
        f"(topic_id = '{each.topic_id}' AND \"partition\" = {each.partition} "
        f'AND "offset" < {each.stop})'
        for each in old
    )
    table_of(paths).remove(where, held)


def settled_steps(paths: Paths, spec: Pipeline, before: datetime) -> Iterator[Step]:
    """A step for each version of a table beside the stream, and each excision, whose changes are
    settled by repairs that stand since before this time, so that nobody can take them back.
    """
    known, audited = read_identity(paths), read_cursor(paths.cursor).audited
    if known is None or audited < 0 or unmended(spec):
        return
    checkpoint, generations = Checkpoint(paths.checkpoint), known.generations
    if not (inputs := noted_now(checkpoint, spec)):
        return
    way = mended(spec)
    until = way.closed_until(checkpoint.batch(audited).watermark)
    found = Outdated(way, paths, generations, audited, inputs)
    for marks in found.settled(before, until):
        what = f"forget {marks.changes:,} changes of version {marks.version} of {marks.input}"
        own = (paths.root, paths.pipeline, generations, marks.of)
        yield Step(f"{what}, which no row lacks", partial(outdated.forget, *own))


def forgotten_steps(paths: Paths, before: datetime) -> Iterator[Step]:
    """A step, if the table remembers deletes of batches planned before this time."""
    table = table_of(paths)
    if not table.exists() or not table.takes_removals():
        return  # its drains forget them (runs/upkeep.py)
    where = f"{DELETED} AND CAST({DELETED_AT} AS BIGINT) < {microseconds(before)}"
    [row] = table.query(f"SELECT count(*) AS n FROM t WHERE {where}").to_pylist()
    if row["n"]:
        yield Step(
            f"forget {row['n']:,} deletes of {paths.table} from before {before:%F %H:%M}",
            partial(table.remove, where, said={history.FORGOT: where}),
        )


def dead_places(paths: Paths, now: datetime) -> list[Dead]:
    """Those to remove: dead for so long, and none that consumers may still read, or in which a
    rebuild works. None while a rebuild is looked at.
    """
    fact, rebuild = read_live(paths), read_begun(paths)
    if fact is None or paths.place.beside:
        return []
    beside = rebuild.folder if rebuild else None
    return [
        each
        for each in fact.dead
        if each.since < now - GRACE
        and each.folder != beside
        and not has_shown(paths, paths.tables / each.table, now - GRACE)
    ]


def dead_checkpoints(paths: Paths, now: datetime) -> list[UPath]:
    """The folders that rewinds and repartitions have left, if none has begun for so long, nor is
    live for less. One that began before identity.json named the live one never comes to live: who
    finds another identity than it was planned with does not begin. None that began behind that:
    then identity.json is a copy of before.
    """
    known, since = read_identity(paths), f"{SPARK}-{now - GRACE:{STAMP}}"
    found = [*paths.version.glob(f"{SPARK}*")]
    if known is None or any(each.name > since for each in found):
        return []
    if known.since is not None and known.since > now - GRACE:
        return []
    named = known.spark if known.since is None else f"{SPARK}-{known.since:{STAMP}}"
    return [each for each in found if each.name <= named and each.name != known.spark]


def remove_place(paths: Paths, dead: Dead, held: Held) -> None:
    """Remove what is its own, then its name in live.json. Nothing of a place that is dead no more
    as it was. Raises LeaseLost.
    """
    fact, rebuild = read_live(paths), read_begun(paths)
    if fact is None or (rebuild and rebuild.folder == dead.folder):
        return
    if dead not in fact.dead or dead.folder in {fact.place("").folder, paths.place.folder}:
        return
    others = [each for each in fact.dead if each.folder != dead.folder]
    folder = paths.above / dead.folder
    held.confirm()
    # First: without it nobody goes back to what a kill has left of the folder.
    (folder / paths.identity.name).unlink(missing_ok=True)
    remove_folder(folder)
    # An archive's table is that of several places, and a table of before there were places too.
    if dead.table not in {fact.table, paths.table.name, *(each.table for each in others)}:
        remove_folder(paths.tables / dead.table)
        remove_folder(paths.root / "staging" / dead.table)
    fact.model_copy(update={"dead": tuple(others)}).write_whole(paths.above, held)
