"""Silence: which of several topics have given nothing for so long that they hold nothing back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.values.numbering import within

if TYPE_CHECKING:
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.source.port import Source, SourceState
    from spark_jobs.spec import Pipeline


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
