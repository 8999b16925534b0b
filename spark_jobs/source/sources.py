"""Sources: what reads each declaration of a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from spark_jobs.spec import Topic
from spark_jobs.spec.several import Several

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline


def _kafka(spec: Pipeline, settings: Settings) -> Source:
    from spark_jobs.source.kafka import KafkaSource  # noqa: PLC0415 - Kafka's client

    return KafkaSource(spec, settings)


def _union(spec: Pipeline, settings: Settings) -> Source:
    from spark_jobs.source.union import UnionSource  # noqa: PLC0415 - as above

    topics, most = spec.topic.each, spec.max_offsets_per_batch
    share = {"max_offsets_per_batch": max(1, most // len(topics))} if most else {}
    specs = (spec.model_copy(update={"topic": topic, **share}) for topic in topics)
    return UnionSource(tuple(_kafka(each, settings) for each in specs))


SOURCES: Final[dict[type[Topic], Callable[[Pipeline, Settings], Source]]] = {
    Topic: _kafka,
    Several: _union,
}
"""The class of a declaration -> what reads it."""


def source_of(spec: Pipeline, settings: Settings) -> Source:
    """The source that the spec declares."""
    return SOURCES[type(spec.topic)](spec, settings)
