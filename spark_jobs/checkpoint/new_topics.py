"""New topics: what Kafka has since, for a pipeline that reads topics as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.known_topics import with_known_topics

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


def with_new_topics(spec: Pipeline, settings: Settings) -> Pipeline:
    """The spec with those that its checkpoint has, and behind them the new ones by their names.

    The first batch that may read them notes them in the identity. Raises KafkaUnreachable,
    KafkaRefused, KafkaConfigInvalid.
    """
    if spec.more_topics is None:
        return spec
    from spark_jobs.source.topic_state import topic_names  # noqa: PLC0415 - Kafka's client

    spec = with_known_topics(spec, settings.root)
    known = [each.name for each in spec.inputs]
    found = spec.more_topics.among(topic_names(settings, known[0])) if spec.more_topics else []
    return spec.with_topics([*known, *(name for name in found if name not in known)])
