"""Sources: what reads a declaration of a source, which names it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from spark_jobs.values.numbering import by_input

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline


def kafka(spec: Pipeline, settings: Settings, _: Offsets, until: Offsets | None) -> Source:
    """Topic.source names it."""
    from spark_jobs.source.kafka import KafkaSource  # noqa: PLC0415 - Kafka's client

    return KafkaSource(spec, settings, until)


def union(spec: Pipeline, settings: Settings, waiting: Offsets, until: Offsets | None) -> Source:
    """Several.source names it."""
    from spark_jobs.source.union import UnionSource  # noqa: PLC0415 - as above

    topics, most = spec.inputs, spec.max_offsets_per_batch
    waits = {number: sum(own.values()) for number, own in by_input(waiting).items()}
    shares = shared(most, [waits.get(number, 0) for number in range(len(topics))]) if most else ()
    ends = None if until is None else by_input(until)
    found = []
    for number, (topic, share) in enumerate(zip_longest(topics, shares)):
        own = {"topic": topic, "max_offsets_per_batch": share}
        end = None if ends is None else ends.get(number, {})
        found.append(source_of(spec.model_copy(update=own), settings, waiting, end))
    return UnionSource(tuple(found))


def shared(most: int, waits: Sequence[int]) -> list[int]:
    """Each topic's share of `most` offsets by how many wait, and 1 at least: so the last records of
    all come in one batch, whichever has most.

    >>> shared(100, [900, 90, 0]), shared(100, [0, 0])
    ([90, 9, 1], [50, 50])
    """
    all_ = sum(waits)
    if not all_:
        return [max(1, most // len(waits))] * len(waits)
    return [max(1, most * each // all_) for each in waits]


def source_of(
    spec: Pipeline,
    settings: Settings,
    waiting: Offsets | None = None,
    until: Offsets | None = None,
) -> Source:
    """The source that the spec declares. `waiting`: partition -> offsets that a stream of it finds;
    several topics have their parts of a batch by these. `until`: partition -> where a stream of it
    ends; None for the topic's end.
    """
    made = resolve_name(spec.topic.source)(spec, settings, waiting or {}, until)
    return cast("Source", made)
