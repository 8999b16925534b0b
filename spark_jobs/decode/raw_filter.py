"""Raw filter: drops the raw bytes of all records but those that may be rejected. Works in Spark's Python workers.

So those few bytes come back with the decoded columns, and the audit need not read Kafka again for them (rejected.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from spark_jobs.contract.topic import Topic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

BUDGET = 4_000_000
"""Bytes of one batch: the driver holds the progress of many. A batch with more to capture is read again."""

OVERHEAD = 100
"""Bytes that a record takes beside its key and value."""


class CapturePolicy(NamedTuple):
    """Whose raw bytes one query captures."""

    late_before_ms: int
    """Milliseconds since the epoch: the watermark that the query's first batch holds its records against."""
    task_bytes: int
    """The budget of one task."""

    @classmethod
    def of(cls, late_before_ms: int, tasks: int) -> Self:
        """For a query whose source is read by so many tasks."""
        return cls(late_before_ms, BUDGET // max(1, tasks))


class RawFilter:
    """The filter of one task."""

    def __init__(self, topic: Topic, policy: CapturePolicy) -> None:
        self._ahead, self._late_before_ms, self._left = topic.max_ahead, policy.late_before_ms, policy.task_bytes

    def apply(self, kafka: pa.StructArray, event_time: pa.Array) -> pa.StructArray:
        """The column kafka. Sets `raw` to null except for records that may be rejected.

        Once the byte budget is spent, sets it to null for all.
        """
        import numpy as np  # noqa: PLC0415 - the driver that only plans needs neither
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        raw = kafka.field("raw")
        bytes_of = [raw.field(name) for name in ("key", "value")]
        suspect = self._suspect(kafka.field("timestamp"), event_time)
        sizes = sum(pc.fill_null(pc.binary_length(part), 0).to_numpy().astype("int64") for part in bytes_of)
        spent = np.cumsum(np.where(suspect, sizes + OVERHEAD, 0))
        dropped = ~(suspect & (spent <= self._left))
        self._left -= int(spent[-1]) if len(spent) else 0
        # Taking null's place gives null. What if_else gives is backed by all of the bytes.
        places = pa.array(np.arange(len(dropped)), mask=dropped)
        captured = pa.StructArray.from_arrays(
            [part.take(places) for part in bytes_of], fields=list(raw.type), mask=pa.array(dropped))
        parts = [captured if field.name == "raw" else kafka.field(field.name) for field in kafka.type]
        return pa.StructArray.from_arrays(parts, fields=list(kafka.type))

    def _suspect(self, timestamp: pa.Array, event_time: pa.Array) -> npt.NDArray[np.bool_]:
        """One boolean a record: malformed, premature, or not after the watermark, as is whatever a step can call late."""
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        premature = pc.greater(pc.subtract(event_time, timestamp), pa.scalar(self._ahead, pa.duration("us")))
        behind = pc.less_equal(event_time, pa.scalar(self._late_before_ms * 1000, event_time.type))
        timely = pc.fill_null(pc.invert(pc.or_(premature, behind)), fill_value=False)  # a malformed record has no event time
        suspect: npt.NDArray[np.bool_] = pc.invert(timely).to_numpy(zero_copy_only=False)
        return suspect
