"""Slices: while it decodes, each task notes the span of event times of every thousand or so
consecutive offsets of a partition. So records of a time are found again without reading the others.

What is certain to be kept elsewhere is left out, or one stray record would make its slice one of
all times: premature records, which are in ops.quarantine, and records that are late for certain,
which are in ops.late. The times of the late ones are noted apart: once their rows in ops.late
expire, its slice has to name the times itself (ops/slice_times.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

from pyspark.accumulators import AccumulatorParam

from spark_jobs.contract.micro_batch import Batch
from spark_jobs.contract.topic import Topic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

LEAST_OFFSETS: Final = 1_000
"""Offsets of a slice: fewer would cost more bytes than they save reading."""
MOST_SLICES: Final = 2_000
"""About the most slices of one batch: those of a larger one have more offsets each."""


class Times(NamedTuple):
    """The first and the last of some event times, in microseconds since the epoch."""

    first: int
    last: int

    def __bool__(self) -> bool:
        return self.first <= self.last

    def and_(self, other: Times) -> Times:
        """Those of both."""
        return Times(min(self.first, other.first), max(self.last, other.last))


NO_TIMES: Final = Times(2**63 - 1, -(2**63))


class Slice(NamedTuple):
    """Consecutive offsets of one partition."""

    partition: int
    first_offset: int
    last_offset: int
    records: int
    """All of them, of any outcome."""
    times: Times
    """Of the records that decode and are neither premature nor late for certain."""
    ahead: Times
    """Of such records too, that may be premature by the clock of their batch."""
    late: int
    """Records that are late for certain."""
    late_times: Times

    def and_(self, other: Slice) -> Slice:
        """Both as one, if they lie in the same thousand."""
        return Slice(
            self.partition,
            min(self.first_offset, other.first_offset),
            max(self.last_offset, other.last_offset),
            self.records + other.records,
            self.times.and_(other.times),
            self.ahead.and_(other.ahead),
            self.late + other.late,
            self.late_times.and_(other.late_times),
        )

    def settled(self, most_us: int) -> Slice:
        """With those of the records `ahead` that may not be premature: none is later than
        `most_us`.
        """
        if not self.ahead or self.ahead.first > most_us:
            return self._replace(ahead=NO_TIMES)
        kept = Times(self.ahead.first, min(self.ahead.last, most_us))
        return self._replace(times=self.times.and_(kept), ahead=NO_TIMES)


class SlicePolicy(NamedTuple):
    """How the tasks of one query note slices."""

    offsets: int
    """Of one slice."""
    late_ms: int | None
    """Event times at or before it are late for certain, in milliseconds since the epoch. It is told
    from the watermark of the query's first batch: no later one has an earlier watermark.
    """
    clock_ms: int
    """A time before every batch of the query, in milliseconds since the epoch."""

    @classmethod
    def of(cls, covered: int, late_ms: int | None, clock_ms: int) -> Self:
        """The policy of a query over so many offsets."""
        return cls(max(LEAST_OFFSETS, -(-covered // MOST_SLICES)), late_ms, clock_ms)


class _Gathered(AccumulatorParam[list[Slice]]):
    """The slices of all tasks, one after the other."""

    def zero(self, value: list[Slice]) -> list[Slice]:  # noqa: ARG002 - as Spark calls it
        return []

    def addInPlace(self, value1: list[Slice], value2: list[Slice]) -> list[Slice]:
        value1.extend(value2)
        return value1


class SliceNotes:
    """The slices of one query, as its tasks noted them. Lives in the driver."""

    def __init__(self, spark: SparkSession, policy: SlicePolicy) -> None:
        self.policy = policy
        self.accumulator: Accumulator[list[Slice]] = spark.sparkContext.accumulator([], _Gathered())
        self._noted: dict[tuple[int, int], Slice] = {}

    def take(self, batch: Batch, topic: Topic) -> list[Slice]:
        """The slices of a finished batch, by partition and offset; the notes of it are gone then.

        A task that runs twice notes equal slices.
        """
        gathered = self.accumulator.value
        news = gathered[:]
        del gathered[: len(news)]  # a task of the next batch may add to its end meanwhile
        self._noted |= {(each.partition, each.first_offset): each for each in news}
        found = sorted(
            place
            for place in self._noted
            if batch.start.get(place[0], 0) <= place[1] < batch.end.get(place[0], 0)
        )
        taken = [self._noted.pop(place) for place in found]
        if not batch.clock_ms:
            return taken
        most_us = batch.clock_ms * 1000 + _microseconds(topic)
        return [each.settled(most_us) for each in taken]


class SliceCounter:
    """The slices of one task."""

    def __init__(self, topic: Topic, policy: SlicePolicy) -> None:
        self._policy = policy
        self._ahead_us = _microseconds(topic)
        self.slices: dict[tuple[int, int], Slice] = {}
        """By partition and number of the thousand: a task that runs again cuts at the same
        offsets.
        """

    def add(self, kafka: pa.StructArray, event_time: pa.Array) -> None:
        """Note these records: the column kafka, and their event times, null if malformed."""
        import numpy as np  # noqa: PLC0415 - the driver that only plans needs none

        if not len(kafka):
            return
        partitions, offsets = (kafka.field(part).to_numpy() for part in ("partition", "offset"))
        cells = offsets // self._policy.offsets
        changes = (cells[1:] != cells[:-1]) | (partitions[1:] != partitions[:-1])
        begins = np.flatnonzero(np.concatenate(([True], changes)))
        ends = np.append(begins[1:], len(offsets)) - 1
        at, on_time, ahead, late = self._classified(kafka.field("timestamp"), event_time)
        columns = (
            partitions[begins],
            np.minimum.reduceat(offsets, begins),
            np.maximum.reduceat(offsets, begins),
            ends - begins + 1,
            *_times(at, on_time, begins),
            *_times(at, ahead, begins),
            np.add.reduceat(late.astype("int64"), begins),
            *_times(at, late, begins),
        )
        for row in zip(*(column.tolist() for column in columns), strict=True):
            partition, first, last, records, low, high, soon, far, lates, old, new = row
            found = Slice(
                partition,
                first,
                last,
                records,
                Times(low, high),
                Times(soon, far),
                lates,
                Times(old, new),
            )
            cell = partition, first // self._policy.offsets
            known = self.slices.get(cell)
            self.slices[cell] = known.and_(found) if known else found

    def _classified(self, timestamp: pa.Array, event_time: pa.Array) -> _Classified:
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        known = pc.is_valid(event_time).to_numpy(zero_copy_only=False)
        at = pc.fill_null(event_time.cast(pa.int64()), 0).to_numpy()
        # As classify/premature.py has it, where a record without a Kafka timestamp is judged by
        # the clock alone.
        latest = pc.fill_null(timestamp.cast(pa.int64()), 2**62).to_numpy() + self._ahead_us
        known &= at <= latest
        late_us = None if self._policy.late_ms is None else self._policy.late_ms * 1000
        late = known & (at <= late_us) if late_us is not None else known & False
        known &= ~late
        ahead = known & (at > self._policy.clock_ms * 1000 + self._ahead_us)
        return at, known & ~ahead, ahead, late


if TYPE_CHECKING:
    _Booleans = npt.NDArray[np.bool_]
    _Classified = tuple[npt.NDArray[np.int64], _Booleans, _Booleans, _Booleans]


def _times(
    at: npt.NDArray[np.int64], which: _Booleans, begins: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First and last of the chosen ones, for each slice."""
    import numpy as np  # noqa: PLC0415 - as above

    first = np.minimum.reduceat(np.where(which, at, NO_TIMES.first), begins)
    last = np.maximum.reduceat(np.where(which, at, NO_TIMES.last), begins)
    return first, last


def _microseconds(topic: Topic) -> int:
    return int(topic.max_ahead.total_seconds() * 1_000_000)
