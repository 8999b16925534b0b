"""Key notes: the unnamed keys of one query in the driver, to which an accumulator brings them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from spark_jobs.decode.json.unnamed import Seen

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

    from spark_jobs.values.path import Path


class _Gathered(AccumulatorParam[list[Seen]]):
    """Those of all tasks, one after the other."""

    def zero(self, value: list[Seen]) -> list[Seen]:  # noqa: ARG002 - as Spark calls it
        return []

    def addInPlace(self, value1: list[Seen], value2: list[Seen]) -> list[Seen]:
        value1.extend(value2)
        return value1


class KeyNotes:
    """The keys that a query's tasks noted. Lives in the driver."""

    def __init__(self, spark: SparkSession) -> None:
        self.accumulator: Accumulator[list[Seen]] = spark.sparkContext.accumulator([], _Gathered())

    def take(self) -> list[Seen]:
        """Each key once, by its path; the notes are gone then."""
        gathered = self.accumulator.value
        news = gathered[:]
        del gathered[: len(news)]
        found: dict[Path, Seen] = {}
        for each in news:
            found[each.path] = found[each.path].and_(each) if each.path in found else each
        return [found[path] for path in sorted(found, key=str)]
