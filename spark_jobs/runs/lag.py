"""Lag: how far an archive is behind its topic, against what retention has left; and which of
several topics have given nothing for so long that they hold nothing back.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.source.micro_batch import Offsets
from spark_jobs.source.port import SourceState
from spark_jobs.values.numbering import within

if TYPE_CHECKING:
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline


def archive_lag(topic: SourceState, start: Offsets) -> float | None:
    """Offsets that waited, per offset before them that retention had left: the largest of all
    partitions from which retention has removed any; None without one.

    >>> archive_lag(SourceState("id", {0: 0, 1: 40}, {0: 70, 1: 70}), {0: 5, 1: 60})
    0.5

    A partition that no batch has read has nothing before what waits:

    >>> archive_lag(SourceState("id", {0: 40, 1: 90}, {0: 70, 1: 99}), {0: 60})
    9.0
    """
    shares = [
        (topic.latest[partition] - at) / max(at - topic.earliest.get(partition, 0), 1)
        for partition, at in _from(topic, start).items()
        if topic.earliest.get(partition, 0) > 0
    ]
    return max(shares, default=None)


def lag_lines(topic: SourceState, done: Offsets) -> tuple[str, ...]:
    """How far the archive is behind, for its plan; with a warning where retention may overtake it.
    `done`: the offsets up to which it has read.

    >>> lag_lines(SourceState("id", {0: 40, 1: 0}, {0: 70, 1: 500}), {0: 60})
    ('the archive is 510 offsets behind the topic; Kafka has 20 before them',)
    """
    at = _from(topic, done)
    behind = sum(topic.latest[p] - at[p] for p in at)
    left = sum(max(at[p] - topic.earliest.get(p, 0), 0) for p in at)
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


def _from(topic: SourceState, done: Offsets) -> Offsets:
    return {p: done.get(p, topic.earliest.get(p, 0)) for p in topic.latest}


def silent_topics(
    spec: Pipeline, source: Source, state: SourceState, done: Offsets, now: datetime
) -> frozenset[str]:
    """The names of those without a record for silent_after, by Kafka's timestamps; none without it.

    One with records that no batch has read is not silent, whatever their timestamps, nor one whose
    records wait behind an open transaction. Nor is one whose newest timestamp is still to come: by
    a wrong clock nobody knows when it came.
    """
    if spec.silent_after is None:
        return frozenset()
    done, found = {**state.begins, **done}, set()
    for number, topic in enumerate(spec.inputs):
        own = list(within(state.latest, number))
        unread = any(state.latest[p] > done.get(p, 0) or p in state.held for p in own)
        newest = None if unread else source.newest(own)
        if not unread and (newest is None or now - newest >= spec.silent_after):
            found.add(topic.name)
    return frozenset(found)
