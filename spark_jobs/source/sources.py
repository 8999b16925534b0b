"""Union: several topics as one source. The partitions of all have numbers (values/numbering.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import zip_longest
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, cast

from spark_jobs.source.port import Leaving, Records, Source, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.values.numbering import by_input, input_of, numbered, numbered_in, own_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.source.port import Gap, Sampled
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held

Waits = Mapping[int, int]
"""Partition -> how many offsets a stream of the source finds."""
BETWEEN = " "
"""What is between the ids of topics in the id of all."""


class UnionRecords(NamedTuple):
    """See port.py."""

    of: tuple[Records, ...]
    """By the numbers of their topics."""

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:
        from pyspark.sql import DataFrame  # noqa: PLC0415 - Spark

        reads = (
            _renumbered(self.of[n].read(spark, own, uncommitted=uncommitted), n)
            for n, own in by_input(parts).items()
        )
        return reduce(DataFrame.unionAll, reads)

    def count(self, parts: Parts) -> int:
        return sum(self.of[n].count(own) for n, own in by_input(parts).items())


class UnionSource(NamedTuple):
    """See port.py."""

    of: tuple[Source, ...]
    """By the numbers of their topics."""

    def note(self, held: Held) -> tuple[str, ...]:
        return tuple(line for source in self.of for line in source.note(held))

    def state(self) -> SourceState:
        found = [source.state() for source in self.of]
        clocks = {each.timestamps for each in found}
        return SourceState(
            id=BETWEEN.join(each.id for each in found),
            earliest=Positions.of_all(each.earliest for each in found),
            latest=Positions.of_all(each.latest for each in found),
            timestamps=clocks.pop() if len(clocks) == 1 else "",
            appended=max((each.appended for each in found if each.appended), default=None),
            compacted=any(each.compacted for each in found),
            held=numbered(each.held for each in found),
            starting=Positions.of_all(each.starting for each in found),
            to_note=tuple(line for each in found for line in each.to_note),
            told=tuple(line for each in found for line in each.told),
        )

    def earliest(self, partitions: Iterable[int]) -> Positions:
        own = by_input(dict.fromkeys(partitions))
        return Positions.of_all((self.of[n].earliest(of) for n, of in own.items()), own)

    def newest(self, partitions: Iterable[int]) -> datetime | None:
        own = by_input(dict.fromkeys(partitions))
        times = (self.of[n].newest(of) for n, of in own.items())
        return max((time for time in times if time), default=None)

    def compacted(self) -> bool:
        return any(source.compacted() for source in self.of)

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        own = by_input(dict.fromkeys(partitions))
        found = [self.of[n].leaving([*of], times) for n, of in own.items()]
        return Leaving(
            tuple(
                Positions.of_all((each.first[number] for each in found), own)
                for number in range(len(times))
            ),
            "; ".join(each.untold for each in found if each.untold),
            Positions.of_all((each.of_nobody for each in found), own),
        )

    def stays(self) -> str:
        return "; ".join(dict.fromkeys(each.stays() for each in self.of))

    def refuse_gone(self, parts: Parts) -> None:
        for n, own in by_input(parts).items():
            self.of[n].refuse_gone(own)

    def taken(self, parts: Parts) -> Parts:
        own = by_input(parts)
        return numbered((self.of[n].taken(of) for n, of in own.items()), own)

    def gaps(self, places: Collection[Place]) -> Mapping[Place, Gap]:
        found: dict[Place, Gap] = {}
        for n, source in enumerate(self.of):
            of_it = (each for each in places if input_of(each.partition) == n)
            own = {each._replace(partition=own_of(each.partition)): each for each in of_it}
            found |= {own[place]: gap for place, gap in source.gaps(own.keys()).items()}
        return found

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:
        for n, own in by_input(parts).items():
            for each in self.of[n].sampled(own, uncommitted=uncommitted):
                yield each._replace(partition=numbered_in(n, each.partition))

    def origin(self, place: Place) -> str:
        own = place._replace(partition=own_of(place.partition))
        return self.of[input_of(place.partition)].origin(own)

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        frames = (source.stream(spark) for source in self.of)
        return tuple(_renumbered(frame, n) for n, (frame,) in enumerate(frames))

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:
        return UnionRecords(self.of).read(spark, parts, uncommitted=uncommitted)

    def count(self, parts: Parts) -> int:
        return UnionRecords(self.of).count(parts)


def id_of(ids: str, partition: int) -> str:
    """The id of a partition's topic, out of all ids.

    >>> id_of("q8jB xT2c", 65539), id_of("q8jB", 3)
    ('xT2c', 'q8jB')
    """
    return ids.split(BETWEEN)[input_of(partition)]


def same_topics(was: str, now: str) -> bool:
    """Whether these are ids of the same topics, but for those that one has more at its end.

    >>> same_topics("q8jB", "q8jB xT2c"), same_topics("q8jB xT2c", "q8jB m0Kw")
    (True, False)
    """
    return all(a == b for a, b in zip(was.split(BETWEEN), now.split(BETWEEN), strict=False))


def _renumbered(records: DataFrame, number: int) -> DataFrame:
    if not number:
        return records
    from pyspark.sql import functions as F  # noqa: PLC0415 - Spark

    partition = F.col("kafka.partition") + F.lit(numbered_in(number, 0))
    return records.select(F.col("kafka").withField("partition", partition).alias("kafka"))


def kafka(spec: Pipeline, settings: Settings, _: Waits, until: Positions | None) -> Source:
    """Topic.source names it."""
    from spark_jobs.source.kafka import KafkaSource  # noqa: PLC0415 - Kafka's client

    return KafkaSource(spec, settings, until)


def union(spec: Pipeline, settings: Settings, waiting: Waits, until: Positions | None) -> Source:
    """Several.source names it."""

    topics, most = spec.inputs, spec.max_offsets_per_batch
    waits = {number: sum(own.values()) for number, own in by_input(waiting).items()}
    shares = shared(most, [waits.get(number, 0) for number in range(len(topics))]) if most else ()
    ends = None if until is None else until.of_inputs()
    found = []
    for number, (topic, share) in enumerate(zip_longest(topics, shares)):
        own = {"topic": topic, "max_offsets_per_batch": share}
        end = None if ends is None else ends.get(number, Positions())
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
    spec: Pipeline, settings: Settings, waiting: Waits | None = None, until: Positions | None = None
) -> Source:
    """The source that the spec declares. By `waiting` several topics have their parts of a batch.
    `until`: where a stream of it ends; None for the topic's end.
    """
    made = resolve_name(spec.topic.source)(spec, settings, waiting or {}, until)
    return cast("Source", made)
