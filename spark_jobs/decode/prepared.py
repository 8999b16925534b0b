"""Prepared: the decoder of a topic on its way from the driver to the tasks. Without Spark: a replay
is planned without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.decode.formats import decoder_class, refuse_disagreeing
from spark_jobs.decode.record_decoder import RecordDecoder

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Topic


class Prepared(NamedTuple):
    """All that a task needs to decode a topic's records. Can be pickled."""

    topic: Topic
    wanted: tuple[str, ...]
    given: tuple[Any, Any]
    """What the formats of the value and of the key have prepared."""

    def decoder(self) -> RecordDecoder:
        """A new one."""
        return RecordDecoder(self.topic, self.wanted, *self.given)


def prepare(
    topic: Topic, root: str, settings: Settings | None, wanted: Sequence[str] | None = None
) -> Prepared:
    """Columns of the `wanted` fields only; of all by default. Every field is validated.

    Raises SpecInvalid if a declared schema does not fit the fields.
    """
    refuse_disagreeing(topic)
    value, key = (
        decoder_class(each).prepare(each, topic, root, settings)
        for each in (topic.format, topic.key)
    )
    return Prepared(topic, tuple(wanted or topic.columns), (value, key))
