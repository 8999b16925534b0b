"""Lag: how far an archive is behind its topic, against what retention has left; and which of
several topics have given nothing for so long that they hold nothing back.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions

if TYPE_CHECKING:
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline


def archive_lag(topic: SourceState, start: Positions) -> float | None:
    """Offsets that waited, per offset before them that retention had left: the largest of all
    partitions from which retention has removed any; None without one.

    >>> first, latest = Positions({0: 0, 1: 40}), Positions({0: 70, 1: 70})
    >>> archive_lag(SourceState("id", first, latest), Positions({0: 5, 1: 60}))
    0.5

    A partition that no batch has read has nothing before what waits:

    >>> first, latest = Positions({0: 40, 1: 90}), Positions({0: 70, 1: 99})
    >>> archive_lag(SourceState("id", first, latest), Positions({0: 60}))
    9.0
    """
    at = (topic.earliest | start).among(topic.latest)
    behind, left = at.counts(topic.latest), topic.earliest.counts(at)
    removed = topic.earliest.above(Positions(dict.fromkeys(topic.earliest.partitions, 0)))
    return max((behind[p] / max(left[p], 1) for p in removed.partitions), default=None)


def lag_lines(topic: SourceState, done: Positions) -> tuple[str, ...]:
    """How far the archive is behind, for its plan; with a warning where retention may overtake it.
    `done`: the offsets up to which it has read.

    >>> first, latest = Positions({0: 40, 1: 0}), Positions({0: 70, 1: 500})
    >>> lag_lines(SourceState("id", first, latest), Positions({0: 60}))
    ('the archive is 510 offsets behind the topic; Kafka has 20 before them',)
    """
    at = (topic.earliest | done).among(topic.latest)
    behind, left = at.count(topic.latest), topic.earliest.count(at)
    said = f"the archive is {behind:,} offsets behind the topic; Kafka has {left:,} before them"
    lag = archive_lag(topic, done)
    if lag is None or lag <= 1:
        return (said,)
    return (
        said,
        f"archive_lag {lag:.1f}: if as many wait again, retention may remove some before the "
        "archive reads them. Archive more often (Archive(every=...)), or lengthen the topic's "
        "retention",
    )


def silent_topics(
    spec: Pipeline, source: Source, state: SourceState, done: Positions, now: datetime
) -> frozenset[str]:
    """The names of those without a record for silent_after, by Kafka's timestamps; none without it.

    One with records that no batch has read is not silent, whatever their timestamps, nor one whose
    records wait behind an open transaction. Nor is one whose newest timestamp is still to come: by
    a wrong clock nobody knows when it came.
    """
    if spec.silent_after is None:
        return frozenset()
    done, found = state.begins | done, set()
    for number, topic in enumerate(spec.inputs):
        own = state.latest.within(number)
        unread = done.before(own) or any(p in state.held for p in own.partitions)
        newest = None if unread else source.newest(own.partitions)
        if not unread and (newest is None or now - newest >= spec.silent_after):
            found.add(topic.name)
    return frozenset(found)
