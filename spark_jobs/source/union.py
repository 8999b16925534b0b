"""Union: several topics as one source. The partitions of all have numbers (values/numbering.py)."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.source.port import Records, Source, SourceState
from spark_jobs.values.numbering import by_input, input_of, numbered, numbered_in

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.source.micro_batch import Offsets, Parts

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

    def state(self) -> SourceState:
        found = [source.state() for source in self.of]
        clocks = {each.timestamps for each in found}
        return SourceState(
            id=BETWEEN.join(each.id for each in found),
            earliest=numbered(each.earliest for each in found),
            latest=numbered(each.latest for each in found),
            timestamps=clocks.pop() if len(clocks) == 1 else "",
            appended=max((each.appended for each in found if each.appended), default=None),
            compacted=any(each.compacted for each in found),
            held=numbered(each.held for each in found),
            starting=numbered(each.starting for each in found),
        )

    def earliest(self, partitions: Iterable[int]) -> Offsets:
        own = by_input(dict.fromkeys(partitions))
        return numbered((self.of[n].earliest(of) for n, of in own.items()), own)

    def newest(self, partitions: Iterable[int]) -> datetime | None:
        own = by_input(dict.fromkeys(partitions))
        times = (self.of[n].newest(of) for n, of in own.items())
        return max((time for time in times if time), default=None)

    def compacted(self) -> bool:
        return any(source.compacted() for source in self.of)

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
