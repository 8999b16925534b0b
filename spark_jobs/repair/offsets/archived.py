"""Archived: at which offsets a checkpoint began, which of a topic its archive has, and which of a
plan's are where.

An archive has all that its accounted batches cover, but for what `removed.json` says. It is told by
the topic's id: an archive also keeps the records of a topic that was deleted and made anew.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.removed import read_removed
from spark_jobs.errors import CheckpointBroken, FormatNewer
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.offsets.slices import less
from spark_jobs.source.archive import ArchiveRecords
from spark_jobs.source.positions import Parts, Positions
from spark_jobs.source.sources import BETWEEN, UnionRecords
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import own_table
from spark_jobs.values.numbering import numbered
from spark_jobs.values.spans import any_of, microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

    from spark_jobs.source.port import Records, Source
    from spark_jobs.spec import Topic
    from spark_jobs.storage.root.paths import Paths


NO_BATCH = -1
"""The batch of slices whose records no drain has read: a rebuild had them from an archive."""


def beginning(paths: Paths, generations: tuple[str, ...], *, drained: bool = False) -> Positions:
    """The offsets at which the table's records begin: of the oldest row in ops.batches, or of the
    oldest slice, which outlives that row.

    With `drained` it is where the first batch began, without what a rebuild had from an archive.
    """
    of_it = ops_tables.of_checkpoint(paths.pipeline, generations)
    oldest = ops_tables.query(
        paths.root,
        "slices",
        f'SELECT "partition", min(first_offset) AS first FROM slices WHERE {of_it} '
        f"{f'AND batch_id > {NO_BATCH} ' if drained else ''}"
        'GROUP BY "partition"',
    ).to_pylist()
    rows = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT offsets_start FROM batches WHERE {of_it} ORDER BY batch_id LIMIT 1",
    ).to_pylist()
    began = Positions.of_json(rows[0]["offsets_start"]) if rows else Positions()
    return began.minimum(Positions({row["partition"]: row["first"] for row in oldest}))


class Where(NamedTuple):
    """From where the offsets of a plan are read."""

    archive: Parts
    source: Parts
    nowhere: Parts
    """The source no longer has them, and the archive has them not."""


def archive_paths(root: UPath, topic: Topic) -> Paths:
    """Paths of a topic's archive, also of one that is no longer declared."""
    return Paths(str(root), archive_spec(topic, topic.archive or Archive()))


def archive_records(root: UPath, inputs: Topics, topic_id: str) -> Records:
    """What the archive has of a topic, or of each of several."""
    ids = topic_id.split(BETWEEN)
    of = [
        ArchiveRecords(archive_paths(root, each).table, id_)
        for each, id_ in zip(inputs, ids, strict=False)
    ]
    return of[0] if len(of) == 1 else UnionRecords(tuple(of))


def at_exactly(
    spark: SparkSession, source: Source, where: Where, archive: Records, parts: Parts
) -> DataFrame:
    """The records at these offsets, and none between them, from where they are. Column kafka, as
    source/port.py has it.
    """
    frames = []
    if where.source or not where.archive:
        frames.append(source.read(spark, where.source or {0: ((0, 0),)}))
    if where.archive:
        frames.append(archive.read(spark, where.archive))
    exact = any_of(
        f"(kafka.partition = {p} AND kafka.offset >= {first} AND kafka.offset < {stop})"
        for p, ranges in parts.items()
        for first, stop in ranges
    )
    one, *others = frames
    return reduce(lambda all_, more: all_.unionAll(more), others, one).where(exact or "false")


def archived(root: UPath, inputs: Topics, topic_id: str) -> Parts:
    """The offsets of this topic that its archive has; none without an archive. Of several topics,
    each one's.

    An archive that is no longer declared has its records still. Raises CheckpointBroken or
    FormatNewer.
    """
    ids = topic_id.split(BETWEEN)
    each = (_archived(root, one, id_) for one, id_ in zip(inputs, ids, strict=False))
    return numbered(each)


def _archived(root: UPath, topic: Topic, topic_id: str) -> Parts:
    paths = archive_paths(root, topic)
    known, audited = read_identity(paths), read_cursor(paths.cursor).audited
    if known is None or known.topic_id != topic_id or audited < 0:
        return {}
    end = Checkpoint(paths.checkpoint).batch(audited).end
    return less(beginning(paths, known.generations).parts(end), read_removed(paths).offsets)


def kept_until(
    root: UPath, inputs: Topics, topic_id: str, times: Sequence[datetime]
) -> tuple[Parts, ...]:
    """For each time the offsets that `keep` will have removed then: from each partition's first on,
    as long as records are old enough (admin/care.py).
    """
    ids = topic_id.split(BETWEEN)
    each = [_leaving(root, one, id_, times) for one, id_ in zip(inputs, ids, strict=False)]
    return tuple(numbered(of[k] for of in each) for k in range(len(times)))


def _leaving(
    root: UPath, topic: Topic, topic_id: str, times: Sequence[datetime]
) -> tuple[Parts, ...]:
    keep = topic.archive.keep if topic.archive else None
    table = own_table(archive_paths(root, topic).table)
    if keep is None or not times or not table.exists():
        return ({},) * len(times)
    stays = (
        "min(CASE WHEN kafka_timestamp IS NULL OR CAST(kafka_timestamp AS BIGINT) >= "
        f'{microseconds(at - keep)} THEN "offset" END) AS at{n}'
        for n, at in enumerate(times)
    )
    sql = (
        f'SELECT "partition", max("offset") AS last, {", ".join(stays)} FROM t '
        f"WHERE topic_id = '{topic_id}' GROUP BY \"partition\""
    )
    rows = table.query(sql).to_pylist()
    return tuple(
        {
            row["partition"]: ((0, row["last"] + 1 if row[f"at{n}"] is None else row[f"at{n}"]),)
            for row in rows
        }
        for n in range(len(times))
    )


def archived_or_why(
    root: UPath, inputs: Topics, topic_id: str
) -> tuple[Parts, CheckpointBroken | FormatNewer | None]:
    """The same; nothing, and the error, of an archive whose checkpoint is broken, or that a newer
    Sluice wrote: nobody knows its records, and Kafka may still have all that is needed.
    """
    try:
        return archived(root, inputs, topic_id), None
    except (CheckpointBroken, FormatNewer) as error:
        return {}, error


def located(parts: Parts, has: Parts, earliest: Positions) -> Where:
    """Where the offsets of `parts` are: in the archive, which has `has`; else in Kafka, from its
    earliest offsets on; else nowhere.

    >>> located({0: ((0, 90),)}, {0: ((10, 50),)}, Positions({0: 40}))
    Where(archive={0: ((10, 50),)}, source={0: ((50, 90),)}, nowhere={0: ((0, 10),)})
    """
    others = less(parts, has)
    return Where(less(parts, others), earliest.rest(others), earliest.cut(others))
