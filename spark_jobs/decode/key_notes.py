"""Key notes: the unnamed keys of one query in the driver, to which an accumulator brings them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from spark_jobs.decode.json.unnamed import Seen, Task, of_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession


class _Gathered(AccumulatorParam[list[Task]]):
    """What all tasks found, one after the other."""

    def zero(self, value: list[Task]) -> list[Task]:  # noqa: ARG002 - as Spark calls it
        return []

    def addInPlace(self, value1: list[Task], value2: list[Task]) -> list[Task]:
        value1.extend(value2)
        return value1


class KeyNotes:
    """The keys that a query's tasks noted. Lives in the driver."""

    def __init__(self, spark: SparkSession) -> None:
        self.accumulator: Accumulator[list[Task]] = spark.sparkContext.accumulator([], _Gathered())

    def take(self, more: Sequence[Task] = ()) -> list[Seen]:
        """Each key once, by its path, and those of `more`; the notes are gone then."""
        gathered = self.accumulator.value
        news = gathered[:]
        del gathered[: len(news)]
        return of_all([*news, *more])
