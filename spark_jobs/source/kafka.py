"""Kafka: a topic as a pipeline's source."""

from __future__ import annotations

from functools import reduce
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from spark_jobs.settings.installation import Settings
from spark_jobs.source.place import Place
from spark_jobs.source.port import Gap
from spark_jobs.source.positions import parts_of
from spark_jobs.source.topic_state import first_offsets, is_compacted, newest_record, topic_state
from spark_jobs.spec import Pipeline

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.source.port import Leaving, Sampled, SourceState
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Topic
    from spark_jobs.storage.lease_view import Held

CONSUMER: Final = "spark_jobs.source.consumer"
"""What reads records itself: a drain has Spark for it."""
LEAVING: Final = "spark_jobs.source.leaving"
"""What retention leaves, which no drain asks."""
ABORTED: Final = Gap("aborted", "a record of an aborted transaction")
MARKER: Final = Gap("marker", "the end of a transaction")
COMPACTED: Final = Gap(
    "removed",
    "there is no record any more",
    "whether it was a marker, or compaction has removed a record: a broker does not tell them "
    "apart",
)


class KafkaSource(NamedTuple):
    """The one topic of a spec. See port.py."""

    spec: Pipeline
    settings: Settings
    until: Positions | None = None
    """Where its stream ends; None for where the topic does."""

    @property
    def topic(self) -> Topic:
        [topic] = self.spec.inputs
        return topic

    def note(self, held: Held) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return ()

    def state(self) -> SourceState:
        return topic_state(self.settings, self.topic.name, self.topic.starting)

    def earliest(self, partitions: Iterable[int]) -> Positions:
        return first_offsets(self.settings, self.topic.name, partitions)

    def newest(self, partitions: Iterable[int]) -> datetime | None:
        return newest_record(self.settings, self.topic.name, partitions)

    def compacted(self) -> bool:
        return is_compacted(self.settings, self.topic.name)

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        asked = resolve_name(f"{LEAVING}:leaving")
        return cast("Leaving", asked(self.settings, self.topic.name, partitions, times))

    def stays(self) -> str:
        return str(resolve_name(f"{LEAVING}:stays")(self.settings, self.topic.name))

    def refuse_gone(self, parts: Parts) -> None:
        pass

    def taken(self, parts: Parts) -> Parts:  # noqa: ARG002 - the port's
        return {}

    def gaps(self, places: Collection[Place]) -> Mapping[Place, Gap]:
        seen = self.sampled(parts_of(places), uncommitted=True) if places else ()
        there = {Place(each.partition, each.offset) for each in seen}
        rest = COMPACTED if places and self.compacted() else MARKER
        return {place: ABORTED if place in there else rest for place in places}

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:
        asked = resolve_name(f"{CONSUMER}:sampled")
        found = asked(self.settings, self.topic.name, parts, uncommitted=uncommitted)
        return cast("Iterator[Sampled]", found)

    def origin(self, place: Place) -> str:  # noqa: ARG002 - the port's
        return ""

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        from spark_jobs.source.kafka_reader import read_stream  # noqa: PLC0415 - Spark

        return (read_stream(spark, self.spec, self.settings, self.until),)

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:
        from pyspark.sql import DataFrame  # noqa: PLC0415 - as above

        from spark_jobs.source.kafka_reader import read_range  # noqa: PLC0415 - as above

        reads = (
            read_range(spark, self.spec, self.settings, one, uncommitted=uncommitted)
            for one in rounds(parts)
        )
        return reduce(DataFrame.unionAll, reads)

    def count(self, parts: Parts) -> int:
        return int(resolve_name(f"{CONSUMER}:count_records")(self.settings, self.topic.name, parts))


def rounds(parts: Parts) -> list[dict[int, tuple[int, int]]]:
    """The reads: a batch query of Spark's Kafka source has one range of offsets a partition.

    >>> rounds({0: ((0, 5), (8, 9)), 1: ((2, 3),)})
    [{0: (0, 5), 1: (2, 3)}, {0: (8, 9)}]
    """
    most = max(map(len, parts.values()), default=0)
    return [
        {partition: ranges[n] for partition, ranges in parts.items() if n < len(ranges)}
        for n in range(most)
    ]
