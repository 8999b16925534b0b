"""Slices: while it decodes, each task notes the span of event times of every thousand or so
consecutive offsets of a partition. So records of a time are found again without reading the others.

What is certain to be kept elsewhere is left out, or one stray record would make its slice one of
all times: premature records, which are in ops.quarantine, and records that are late for certain,
which are in ops.late. The times of the late ones are noted apart: before their rows in ops.late
expire, the slice takes them in (admin/care.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from spark_jobs.decode.formats import decoder_class
from spark_jobs.spec import Topic
from spark_jobs.values.own_columns import ELEMENT, EMPTY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

LEAST_OFFSETS: Final = 1_000
"""Offsets of a slice: fewer would cost more bytes than they save reading."""
MOST_SLICES: Final = 2_000
"""About the most slices of one batch: those of a larger one have more offsets each."""


Ids = tuple[tuple[str, int], ...]
"""Each id of a schema, of a key with "key " before it, and its records; in order."""


def summed(all_of_them: Iterable[Ids]) -> Ids:
    """
    >>> summed([(("3", 2),), (("10", 1), ("3", 1))])
    (('10', 1), ('3', 3))
    """
    total = Counter[str]()
    for ids in all_of_them:
        total.update(dict(ids))
    return tuple(sorted(total.items()))


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
    """All of them, of any outcome; of values with many, the values."""
    times: Times
    """Of the records that decode and are neither premature nor late for certain."""
    ahead: Times
    """Of such records too, that may be premature by the clock of their batch."""
    late: int
    """Records that are late for certain."""
    late_times: Times
    schemas: Ids = ()
    """The ids of schemas that its records begin with."""

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
            summed([self.schemas, other.schemas]),
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


class SliceCounter:
    """The slices of one task."""

    def __init__(self, topic: Topic, policy: SlicePolicy) -> None:
        self._policy = policy
        self._counted: list[tuple[str, bool, Any]] = [
            (part, format_.reads_headers, decoder_class(format_))
            for part, format_ in topic.registered.items()
        ]
        self._ahead_us = topic.max_ahead // timedelta(microseconds=1)
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
            _values(kafka, begins) if ELEMENT in kafka.type.names else ends - begins + 1,
            *_times(at, on_time, begins),
            *_times(at, ahead, begins),
            np.add.reduceat(late.astype("int64"), begins),
            *_times(at, late, begins),
        )
        ids: list[Ids] = [()] * len(begins)
        for part, in_header, by in self._counted:
            more = by.counted(kafka.field("raw"), part, begins, in_header=in_header)
            ids = [summed(both) for both in zip(ids, more, strict=True)]
        for *row, schemas in zip(*(column.tolist() for column in columns), ids, strict=True):
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
                schemas,
            )
            cell = partition, first // self._policy.offsets
            known = self.slices.get(cell)
            self.slices[cell] = known.and_(found) if known else found

    def _classified(self, timestamp: pa.Array, event_time: pa.Array) -> _Classified:
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        known = pc.is_valid(event_time).to_numpy(zero_copy_only=False)
        at = pc.fill_null(event_time.cast(pa.int64()), 0).to_numpy()
        # As steps/classify.py has it, where a record without a Kafka timestamp is judged by
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


def _values(kafka: pa.StructArray, begins: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many values each slice has, of records that are their elements: each has one first."""
    import numpy as np  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    first = pc.less_equal(pc.fill_null(kafka.field(ELEMENT), EMPTY), 0)
    return np.add.reduceat(first.to_numpy(zero_copy_only=False).astype("int64"), begins)


def _times(
    at: npt.NDArray[np.int64], which: _Booleans, begins: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First and last of the chosen ones, for each slice."""
    import numpy as np  # noqa: PLC0415 - as above

    first = np.minimum.reduceat(np.where(which, at, NO_TIMES.first), begins)
    last = np.maximum.reduceat(np.where(which, at, NO_TIMES.last), begins)
    return first, last
