"""Slice counter: notes the slices of the records that one task decodes, in a Python worker."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from spark_jobs.decode.formats import decoder_class
from spark_jobs.decode.slices import NO_TIMES, Ids, Slice, SlicePolicy, Times, summed
from spark_jobs.spec import Topic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


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
            ends - begins + 1,
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
