"""Sources: what reads each declaration of a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from spark_jobs.spec import Topic

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline


def _kafka(spec: Pipeline, settings: Settings) -> Source:
    from spark_jobs.source.kafka import KafkaSource  # noqa: PLC0415 - Kafka's client

    return KafkaSource(spec, settings)


SOURCES: Final[dict[type[Topic], Callable[[Pipeline, Settings], Source]]] = {Topic: _kafka}
"""The class of a declaration -> what reads it."""


def source_of(spec: Pipeline, settings: Settings) -> Source:
    """The source that the spec declares."""
    return SOURCES[type(spec.topic)](spec, settings)
