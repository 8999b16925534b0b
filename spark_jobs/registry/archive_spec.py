"""Archive spec: the archive of a topic as a pipeline, so that a drain fills it.

It has no step and keeps no state. Its output is the record itself: so nothing is malformed,
premature or late for it, and of a record it decodes the event time alone. A value with many records
is one row, by Kafka's time: it has as many event times.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal

from pydantic import Field as Described, InstanceOf, SerializeAsAny

from spark_jobs.spec import Archive, Field, Pipeline, Schedule, Topic
from spark_jobs.spec.archive import archive_name
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.steps.step import Step

COLUMNS: Columns = (
    "topic_id",
    "partition",
    "offset",
    "kafka_timestamp",
    "kafka_millis",
    "key",
    "value",
    "headers",
    "event_time",
    "event_date",
)
"""Of the table. steps/classify.py makes them."""
ADDED_TO_ARCHIVES: Final = frozenset({"kafka_millis", "headers"})
"""Of these, what an older Sluice's archive lacks."""
RELEASED: Final = "none"
"""The generation of an archive's table whose topic was made anew: the next one adds its records."""
PARTITIONED_BY: Final = ("event_date",)
SORTED_BY: Final = ("partition", "offset")
"""Within a file, so that its statistics tell which offsets it has."""


class ArchiveSpec(Pipeline):
    """The archive of one topic."""

    steps: tuple[SerializeAsAny[InstanceOf[Step]], ...] = ()
    keep: timedelta | None = Described(default=None, description="see Archive.keep")

    @property
    def is_archive(self) -> Literal[True]:
        return True

    @property
    def reads_headers(self) -> Literal[True]:
        """It keeps them for specs to come."""
        return True


def archive_spec(topic: Topic, archive: Archive, root: str = "") -> ArchiveSpec:
    """The archive of a topic that declares one, in the root of the pipelines that read it.

    It depends on the name of the topic and on its event time, not on its other fields: those may
    change while it goes on.
    """
    clock = next(field for field in topic.fields if field.name == topic.event_time)
    if topic.each:
        clock = Field(name=clock.name, type="timestamp", part="timestamp")
    return ArchiveSpec(
        name=archive_name(topic.place),
        about=f"Every record of topic {topic.place}, byte for byte.",
        root=root,
        topic=Topic(
            name=topic.name,
            cluster=topic.cluster,
            fields=(clock,),
            event_time=topic.event_time,
            format=topic.format,
            key=topic.key,
            envelope=topic.envelope,
        ),
        # An archive that stops because retention overtook it would lose the more.
        on_lost_records="skip",
        schedule=Schedule(cron=archive.every),
        keep=archive.keep,
    )
