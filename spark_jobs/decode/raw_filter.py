"""Raw filter: drops the raw bytes of records that cannot be rejected.

Runs in Spark's Python workers.

The bytes that it keeps are few, and return with the decoded columns: the audit need not read Kafka
again for them (rejected/rejected_record.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Self

from spark_jobs.spec import Topic
from spark_jobs.values.gap import Unheld

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

BUDGET = 4_000_000
"""The captured bytes of one batch.

The driver holds the progress of many batches. A batch with more is read again.
"""

OVERHEAD = 100
"""The bytes of a captured record besides its key, value and headers."""


_NEVER_MS = (2**63 - 1) // 1000
"""No event time is later: a watermark behind which all records are."""
_ANY_SIZE = 2**62


class CapturePolicy(NamedTuple):
    """Decides which records' raw bytes a query captures."""

    late_before_ms: int
    """The watermark for late records in the query's first batch, in milliseconds since the epoch.
    """
    task_bytes: int
    """The byte budget of one task."""
    clock_ms: int
    """A time before every batch of the query, in milliseconds since the epoch: what is not ahead of
    it is not ahead of a batch's clock.
    """

    @classmethod
    def of(cls, late_before_ms: int, tasks: int, clock_ms: int) -> Self:
        """The policy of a query whose source is read by `tasks` tasks."""
        return cls(late_before_ms, BUDGET // max(1, tasks), clock_ms)

    def of_all(self, *, bounded: bool) -> Self:
        """Captures every record's: any may be one that a rule puts into quarantine. Not `bounded`:
        of any size, since who gets them keeps few of them (steps/capture.py).
        """
        most = self.task_bytes if bounded else _ANY_SIZE
        return self._replace(late_before_ms=_NEVER_MS, task_bytes=most)


class RawFilter:
    """The filter of one task."""

    def __init__(self, topic: Topic, policy: CapturePolicy, unheld: Sequence[Unheld] = ()) -> None:
        self._event_time = topic.event_time
        self._max_ahead = topic.max_ahead
        self._unheld = unheld
        self._late_before_ms = policy.late_before_ms
        self._clock_ms = policy.clock_ms
        self._bytes_left = policy.task_bytes

    def apply(self, kafka: pa.StructArray, fields: Mapping[str, pa.Array]) -> pa.StructArray:
        """The column kafka struct<partition, offset, timestamp, raw>, with `raw` null except for
        records that may be rejected. `fields` are the decoded ones.

        When the task's byte budget is spent, `raw` is null for all.
        """
        import numpy as np  # noqa: PLC0415 - the driver that only plans needs neither
        import pyarrow as pa  # noqa: PLC0415 - as above

        raw = kafka.field("raw")
        parts = [raw.field(each.name) for each in raw.type]
        suspect = self._may_be_rejected(kafka.field("timestamp"), fields[self._event_time])
        for limit in self._unheld:
            suspect |= _outside(fields[limit.field], limit)
        sizes = sum(_bytes(part) for part in parts)
        spent = np.cumsum(np.where(suspect, sizes + OVERHEAD, 0))
        dropped = ~(suspect & (spent <= self._bytes_left))
        self._bytes_left -= int(spent[-1]) if len(spent) else 0
        # take() with a null index gives null. The result of if_else would keep all of the bytes in
        # memory.
        indices = pa.array(np.arange(len(dropped)), mask=dropped)
        captured = pa.StructArray.from_arrays(
            [part.take(indices) for part in parts], fields=list(raw.type), mask=pa.array(dropped)
        )
        columns = [
            captured if field.name == "raw" else kafka.field(field.name) for field in kafka.type
        ]
        return pa.StructArray.from_arrays(columns, fields=list(kafka.type))

    def _may_be_rejected(self, timestamp: pa.Array, event_time: pa.Array) -> npt.NDArray[np.bool_]:
        """One boolean for each record: malformed, premature, or at or before the watermark (as all
        late records are).
        """
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        most = pa.scalar(self._max_ahead, pa.duration("us"))
        clock = pa.scalar(self._clock_ms * 1000, event_time.type)
        ahead = pc.greater(pc.subtract(event_time, timestamp), most)
        premature = pc.or_(
            pc.fill_null(ahead, fill_value=False),  # without a Kafka timestamp, by the clock alone
            pc.greater(pc.subtract(event_time, clock), most),
        )
        behind = pc.less_equal(event_time, pa.scalar(self._late_before_ms * 1000, event_time.type))
        timely = pc.fill_null(
            pc.invert(pc.or_(premature, behind)), fill_value=False
        )  # a malformed record has no event time
        suspect: npt.NDArray[np.bool_] = pc.invert(timely).to_numpy(zero_copy_only=False)
        return suspect


def _bytes(part: pa.Array) -> npt.NDArray[np.int64]:
    """The bytes of each record's key, value or headers."""
    import numpy as np  # noqa: PLC0415 - as above
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    if not pa.types.is_list(part.type):
        found: npt.NDArray[np.int64] = (
            pc.fill_null(pc.binary_length(part), 0).to_numpy().astype("int64")
        )
        return found
    sizes = np.zeros(len(part), "int64")
    if part.null_count < len(part):
        flat = part.flatten()
        of = pc.list_parent_indices(part).to_numpy()
        for name in ("key", "value"):
            np.add.at(sizes, of, _bytes(flat.field(name)))
    return sizes


def _outside(values: pa.Array, limit: Unheld) -> npt.NDArray[np.bool_]:
    """One boolean for each record: whether its time is one that is not held."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    at = values.cast(pa.timestamp("us", "UTC"))
    within = [
        pc.and_(
            pc.greater_equal(at, pa.scalar(gap.first, at.type)),
            pc.less_equal(at, pa.scalar(gap.last, at.type)),
        )
        for gap in limit.gaps
    ]
    found: npt.NDArray[np.bool_] = pc.fill_null(reduce(pc.or_, within), fill_value=False).to_numpy(
        zero_copy_only=False
    )
    return found
