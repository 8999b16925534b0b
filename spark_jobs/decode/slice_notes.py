"""Slice notes: the slices of one query in the driver, to which an accumulator brings them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from pyspark.accumulators import AccumulatorParam

from spark_jobs.decode.json.unnamed import Seen, Task, of_all
from spark_jobs.decode.slices import Slice, SlicePolicy
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.place import Place
from spark_jobs.spec.inputs import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession


class _KeysGathered(AccumulatorParam[list[Task]]):
    """What all tasks found, one after the other."""

    def zero(self, value: list[Task]) -> list[Task]:  # noqa: ARG002 - as Spark calls it
        return []

    def addInPlace(self, value1: list[Task], value2: list[Task]) -> list[Task]:
        value1.extend(value2)
        return value1


class KeyNotes:
    """The keys that a query's tasks noted. Lives in the driver."""

    def __init__(self, spark: SparkSession) -> None:
        self.accumulator: Accumulator[list[Task]] = spark.sparkContext.accumulator(
            [], _KeysGathered()
        )

    def take(self, more: Sequence[Task] = ()) -> list[Seen]:
        """Each key once, by its path, and those of `more`; the notes are gone then."""
        gathered = self.accumulator.value
        news = gathered[:]
        del gathered[: len(news)]
        return of_all([*news, *more])


class _Gathered(AccumulatorParam[list[Slice]]):
    """The slices of all tasks, one after the other."""

    def zero(self, value: list[Slice]) -> list[Slice]:  # noqa: ARG002 - as Spark calls it
        return []

    def addInPlace(self, value1: list[Slice], value2: list[Slice]) -> list[Slice]:
        value1.extend(value2)
        return value1


class InJvm(Protocol):
    """What the tasks of a topic note that decode in the JVM (decode/jvm.py)."""

    def slices(self) -> list[Slice]: ...
    def keys(self) -> Task: ...


class SliceNotes:
    """The slices of one query, as its tasks noted them. Lives in the driver."""

    def __init__(
        self, spark: SparkSession, policy: SlicePolicy, keys: KeyNotes | None = None
    ) -> None:
        self.policy = policy
        self.keys = keys
        """Where the tasks note keys that no field names; None if nobody asks."""
        self.in_jvm: list[InJvm] = []
        """What tasks note that decode in the JVM, for each topic."""
        self.accumulator: Accumulator[list[Slice]] = spark.sparkContext.accumulator([], _Gathered())
        self._noted: dict[Place, Slice] = {}
        self._unnamed: list[Task] = []

    def unnamed(self) -> list[Seen]:
        """The keys that no field names, each once; the notes are gone then."""
        self._take_samples()
        return self.keys.take(self._unnamed) if self.keys else []

    def _take_samples(self) -> None:
        if self.keys:
            self._unnamed += [noted.keys() for noted in self.in_jvm]

    def take(self, batch: Batch, inputs: Topics) -> list[Slice]:
        """The slices of a finished batch, by partition and offset; the notes of it are gone then.

        A task that runs twice notes equal slices.
        """
        gathered = self.accumulator.value
        news = gathered[:]
        del gathered[: len(news)]  # a task of the next batch may add to its end meanwhile
        news += [each for noted in self.in_jvm for each in noted.slices()]
        self._take_samples()  # they are records: those of many batches would fill the driver
        self._noted |= {Place(each.partition, each.first_offset): each for each in news}
        found = sorted(place for place in self._noted if batch.has(place))
        taken = [self._noted.pop(place) for place in found]
        if not batch.clock_ms:
            return taken
        return [each.settled(_latest_us(batch, inputs, each)) for each in taken]


def _latest_us(batch: Batch, inputs: Topics, each: Slice) -> int:
    """The latest event time that is not premature, in microseconds since 1970."""
    ahead = inputs.of_partition(each.partition).max_ahead
    return batch.clock_ms * 1000 + ahead // timedelta(microseconds=1)
