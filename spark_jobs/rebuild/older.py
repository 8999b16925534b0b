"""Older: the records that the live table was made from, and that only the topic's archive has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.analysis.ranged import unranged
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.rebuild import read_begun
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.rebuild.starting import since
from spark_jobs.repair.offsets.archived import archived_or_why
from spark_jobs.repair.offsets.beginning import beginning

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.root.paths import Paths
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Pipeline, Topic

NOTE = "rebuild: the records that only the archive has"
"""Of the repair that puts them in, by which it is found again."""
Older = dict[int, tuple[int, int]]
"""Partition -> offsets, from the first one up to the second one, which is not among them: that is
where NEXT's drain begins, or the live one has ended.
"""


def unusable(spec: Pipeline, following: Pipeline) -> str | None:
    """Why a rebuild of `spec`, which drains, can take nothing from the archive; None if it can."""
    if why := unranged(following):
        return why
    if following.inputs.several:
        return "it takes nothing from the archives of several topics"
    if _clock(spec.inputs[0]) != _clock(following.inputs[0]):
        return (
            f"its event times are those of {spec.inputs.event_time!r} as SPEC has it, and NEXT "
            f"goes by {following.inputs.event_time!r}, so nobody knows which rows they touch"
        )
    return None


def _clock(topic: Topic) -> tuple[object, ...]:
    return (topic.event_time, *(each for each in topic.fields if each.name == topic.event_time))


def older(
    live: Paths, side: Paths, spec: Pipeline, following: Pipeline, earliest: Offsets
) -> Older:
    """The offsets that a rebuild takes from the archive: without a hole up to those that NEXT
    drains, and none from before its `Topic.starting`. `earliest` are the first ones that Kafka has,
    for a rebuild without a batch.

    Nothing where ranges of NEXT cannot be computed, for only a drain makes its rows, or where the
    archive has other event times than NEXT's.
    """
    known = read_identity(live)
    if known is None or not known.topic_id or unusable(spec, following) is not None:
        return {}
    has, _ = archived_or_why(live.root, following.inputs, known.topic_id)
    if not has:
        return {}
    begins, read = _begins(side) or earliest, read_to(live)
    topic = following.topic
    starts = since(live.root, topic, known.topic_id) if topic.starting else None
    found = Older()
    for partition, began in beginning(live, known.generations).items():
        stop = min(begins.get(partition, began), read.get(partition, began))
        first = began if starts is None else max(began, starts.get(partition, stop))
        for start, end in has.get(partition, ()):
            if max(start, first) < stop <= end:
                found[partition] = (max(start, first), stop)
    return found


def put_in(side: Paths, name: str) -> bool:
    """Whether a rebuild has put them into its table: what the archive loses from then on is lost
    to nobody. Their slices alone say nothing: they are noted first.
    """
    known = begun_identity(side)
    if known is None:
        return False
    return bool(
        repairs.stored(
            side.root,
            name,
            f"{ops_tables.among('generation', known.generations)} "
            f"AND state IN ('swapped', 'canonical') AND request LIKE '%{NOTE}%'",
        )
    )


def begun_identity(side: Paths) -> Identity | None:
    """Of a rebuild that has begun: before, its place is nobody's, and is not read as a live one."""
    return read_identity(side) if read_begun(side) else None


def read_to(paths: Paths) -> Offsets:
    """The end of the newest batch of a checkpoint; nothing without one."""
    checkpoint = Checkpoint(paths.checkpoint)
    committed = checkpoint.committed()
    return checkpoint.batch(committed[-1]).end if committed else {}


def _begins(side: Paths) -> Offsets:
    known = begun_identity(side)
    if known is None or not read_to(side):
        return {}
    return beginning(side, known.generations, drained=True)
