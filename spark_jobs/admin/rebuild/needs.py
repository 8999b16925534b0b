"""Needs: the offsets that the live table was made from, and that no drain of NEXT has read or can
read: Kafka has them no longer. What only the topic's archive has can be put in; the rest is lost.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archive_paths, archived_or_why, beginning, located
from spark_jobs.repair.offsets.slices import less
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.table.tables import own_table
from spark_jobs.values.spans import EPOCH

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.storage.root.paths import Paths

NOTE: Final = "rebuild: the records that only the archive has"
"""Of the repair that puts them in, by which it is found again."""
MILLISECOND: Final = timedelta(milliseconds=1)


class Needs(NamedTuple):
    """Offsets that a rebuild lacks."""

    archived: Parts
    """To be taken from the archive: one range of a partition, up to those that NEXT drains."""
    lost: Parts
    """Nobody can give them to it."""
    unused: str
    """Why the archive does not give them; empty if it has none."""


def needs(live: Paths, side: Paths, specs: tuple[Pipeline, Pipeline], topic: SourceState) -> Needs:
    """Look, and write nothing. `live` and `side` are the paths of what drains and of NEXT's place,
    `specs` their specs; the live one has drained. `topic`: what Kafka has now.
    """
    known = read_identity(live)
    assert known is not None
    # Before a rebuild has begun, its place is nobody's, and is not read as a live one.
    new = read_identity(side) if read_begun(side) else None
    of = specs[1].inputs
    done = read_to(side) if new else Positions()
    # Once they are in, the archive may lose them.
    inside = new is not None and _put_in(side, new)
    first = beginning(side, new.generations, drained=not inside) if new and done else topic.begins
    has, broken = archived_or_why(live.root, of, known.topic_id)
    starts, why = _starts(live.root, of, topic, known.topic_id), _unusable(*specs)
    # Behind no batch of NEXT, nothing could be computed from the archive.
    coming = done or topic.begins.before(topic.latest)
    usable = has if coming and not inside and why is None else {}
    if _begins_later(of):
        # Where none of the archive's is as new as the beginning of NEXT, it has none that counts.
        usable = {p: ranges for p, ranges in usable.items() if p in starts.partitions}
    oldest = beginning(live, known.generations)
    begin = oldest.maximum(starts.among(oldest))
    end = begin | read_to(live).among(begin)  # what comes behind is in no live row either
    # NEXT may have no batch yet with a partition that came later.
    until = (begin | topic.begins.among(begin) | first.among(begin)).minimum(end)
    archived = until.reaching(begin.rest(usable))
    earliest = begin | topic.earliest.among(begin)
    gone = (
        less(begin.parts(until), archived),
        (earliest | done.among(begin)).parts(earliest.minimum(end)),
    )
    parts = {p: tuple(part for of in gone for part in of.get(p, ())) for p in begin.partitions}
    lost = {p: ranges for p, ranges in parts.items() if ranges}
    unused = ""
    if lost and broken:
        unused = f"the topic's archive is not read: {broken.what} {broken.remedy}"
    elif there := offsets_in(located(lost, has, Positions()).archive):
        why = why or "not without a hole up to those that Kafka has"
        unused = f"the topic's archive has {there:,} of them, which a rebuild cannot use: {why}"
    return Needs(archived, lost, unused)


def read_to(paths: Paths) -> Positions:
    """The end of the newest batch of a checkpoint; nothing without one."""
    return Checkpoint(paths.checkpoint).done()


def _put_in(side: Paths, known: Identity) -> bool:
    """Whether the archive's are in. Their slices alone say nothing: they are noted first."""
    return bool(
        repairs.stored(
            side.root,
            side.pipeline,
            f"{ops_tables.among('generation', known.generations)} "
            f"AND state IN ('swapped', 'canonical') AND request LIKE '%{NOTE}%'",
        )
    )


def _unusable(spec: Pipeline, following: Pipeline) -> str | None:
    """Why a rebuild of `spec`, which drains, can take nothing from the archive; None if it can."""
    if why := unranged(following):
        return why
    if len(following.inputs) > 1:
        return "it takes nothing from the archives of several topics"
    if spec.inputs.spread or following.inputs.spread:
        return "its values have many records, whose event times it does not say"
    if _clock(spec.inputs[0]) != _clock(following.inputs[0]):
        return (
            f"its event times are those of {spec.inputs.event_time!r} as SPEC has it, and NEXT "
            f"goes by {following.inputs.event_time!r}, so nobody knows which rows they touch"
        )
    return None


def _clock(topic: Topic) -> tuple[object, ...]:
    return (topic.event_time, *(each for each in topic.fields if each.name == topic.event_time))


def _begins_later(of: Topics) -> datetime | None:
    """`Topic.starting` of the one topic; None of several."""
    return None if of.several else of[0].starting


def _starts(root: UPath, of: Topics, topic: SourceState, topic_id: str) -> Positions:
    """At the first records that are not before `Topic.starting`, by Kafka's timestamps: Kafka's
    answer, or of what it has no longer the archive's; nothing where neither has one.
    """
    exact = topic.starting.above(topic.earliest)
    begins = _begins_later(of)
    if begins is None:
        return exact
    table = own_table(archive_paths(root, of[0]).table)
    if not table.exists():
        return exact
    starting = (begins - EPOCH) // MILLISECOND
    millis = "CAST(kafka_timestamp AS BIGINT) / 1000"
    if "kafka_millis" in table.columns():
        millis = f"coalesce(kafka_millis, {millis})"
    sql = (
        'SELECT "partition", min("offset") AS first FROM archived '
        f"WHERE topic_id = '{topic_id}' AND {millis} >= {starting} GROUP BY 1"
    )
    rows = table.query(sql, "archived").to_pylist()
    return Positions({row["partition"]: row["first"] for row in rows}) | exact
