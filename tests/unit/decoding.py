"""Decoding through the port, as a task does it: bytes in, Python's values and reasons out."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.ops.schema import HEADERS
from spark_jobs.spec import Topic

Header = tuple[str, bytes | None]
SENT = datetime(2026, 1, 1, tzinfo=UTC)


def records(
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None = None,
    sent: datetime | None = SENT,
    headers: Sequence[Sequence[Header] | None] | None = None,
) -> Records:
    """Records of partition 0, at the offsets 0, 1, 2."""
    n = len(values)
    return Records(
        pa.array(values, pa.binary()), pa.array(keys or [None] * n, pa.binary()),
        pa.array([0] * n, pa.int32()), pa.array(range(n), pa.int64()),
        pa.array([sent] * n, pa.timestamp("us", "UTC")), of_headers(headers or [[]] * n),
    )  # fmt: skip


def of_headers(given: Sequence[Sequence[Header] | None]) -> pa.Array:
    """As Arrow has them, of each record; None where none were read."""
    return pa.array(
        [
            each and [dict(zip(("key", "value"), one, strict=True)) for one in each]
            for each in given
        ],
        HEADERS,
    )


class Decoding:
    """The decoder of a topic."""

    def __init__(self, topic: Topic, wanted: Sequence[str] | None = None):
        self.prepared = prepare(topic, "memory://none", None, wanted)
        self._decoder = self.prepared.decoder()

    def of(self, given: Records) -> tuple[list[list[Any]], list[str | None]]:
        """The columns as lists, and the reasons."""
        columns, reasons = self._decoder.decode(given)
        return [column.to_pylist() for column in columns], [*reasons]

    def arrays(self, values: Sequence[bytes | None]) -> Decoded:
        """As Arrow."""
        return self._decoder.decode(records(values))

    def columns(self, values: Sequence[bytes | None]) -> tuple[list[list[Any]], list[str | None]]:
        """As `of`, for records that are values alone."""
        return self.of(records(values))

    def row(self, value: bytes | None) -> tuple[tuple[Any, ...], str | None]:
        """One record's values, and why it is malformed."""
        columns, [reason] = self.columns([value])
        return tuple(column[0] for column in columns), reason
