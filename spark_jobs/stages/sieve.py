"""Sieve: lets the raw bytes through of records that may have to be kept, and of no others. Works in Spark's Python workers.

So those few bytes come back with the decoded columns, and the audit need not read Kafka again for them (kept.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from spark_jobs.contract.topic import Topic

if TYPE_CHECKING:
    import pyarrow as pa

BUDGET = 4_000_000
"""Bytes of one batch: the driver holds the progress of many. A batch with more to keep is read again."""

OVERHEAD = 100
"""Bytes that a record takes beside its key and value."""


class Keeping(NamedTuple):
    """What one query lets through."""

    late_before_ms: int
    """Milliseconds since the epoch: the watermark that the query's first batch holds its records against."""
    task_bytes: int

    @classmethod
    def of(cls, late_before_ms: int, tasks: int) -> Self:
        """For a query that so many tasks read."""
        return cls(late_before_ms, BUDGET // max(1, tasks))


class Sieve:
    """One task's."""

    def __init__(self, topic: Topic, keeping: Keeping) -> None:
        self._ahead, self._late_before_ms, self._left = topic.max_ahead, keeping.late_before_ms, keeping.task_bytes

    def sifted(self, kafka: pa.StructArray, event_time: pa.Array) -> pa.StructArray:
        """The column kafka, where raw is null but for what may have to be kept; for all, once the budget is spent."""
        import numpy as np  # noqa: PLC0415 - the driver that only plans needs neither
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        raw = kafka.field("raw")
        bytes_of = [raw.field(name) for name in ("key", "value")]
        suspect = self._suspect(kafka.field("timestamp"), event_time)
        sizes = sum(pc.fill_null(pc.binary_length(part), 0).to_numpy().astype("int64") for part in bytes_of)
        spent = np.cumsum(np.where(suspect, sizes + OVERHEAD, 0))
        held = ~(suspect & (spent <= self._left))
        self._left -= int(spent[-1]) if len(spent) else 0
        # Taking null's place gives null. What if_else gives is backed by all of the bytes.
        places = pa.array(np.arange(len(held)), mask=held)
        through = [part.take(places) for part in bytes_of]
        sifted = pa.StructArray.from_arrays(through, fields=list(raw.type), mask=pa.array(held))
        parts = [sifted if field.name == "raw" else kafka.field(field.name) for field in kafka.type]
        return pa.StructArray.from_arrays(parts, fields=list(kafka.type))

    def _suspect(self, timestamp: pa.Array, event_time: pa.Array) -> Any:
        """A boolean a record: malformed, premature, or not after the watermark, as is whatever a step can call late."""
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        premature = pc.greater(pc.subtract(event_time, timestamp), pa.scalar(self._ahead, pa.duration("us")))
        behind = pc.less_equal(event_time, pa.scalar(self._late_before_ms * 1000, event_time.type))
        timely = pc.fill_null(pc.invert(pc.or_(premature, behind)), fill_value=False)  # a malformed record has no event time
        return pc.invert(timely).to_numpy(zero_copy_only=False)
