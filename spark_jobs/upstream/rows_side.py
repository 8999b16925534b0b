"""Side: the table beside its own stream: its versions, and at which event times two of them differ
for whoever drains its rows (side/port.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from spark_jobs.errors import TableChanged
from spark_jobs.side.place import Rooted, place_of
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.storage.root.store import opened
from spark_jobs.upstream.file_rows import as_json, rows_of
from spark_jobs.upstream.table_log import live_files, log_of, moves, own_id
from spark_jobs.values.spans import EPOCH, FIRST, LAST, MICROSECOND, Span, joined, microseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.spec.table.upstream import Rows
    from spark_jobs.table.data_files import DataFile

MOST_ROWS: Final = 2_000_000
"""Rows that are held against each other. Of more, their files tell the times."""
NEAR: Final = timedelta(hours=1)
"""Times of rows that differ, of which those between count too."""
MOST_SPANS: Final = 1_000
RANGED: Final = (microseconds(FIRST), microseconds(LAST))
"""The times that ranges have: no repair computes a row of another."""
Times = tuple[datetime | None, datetime | None]
"""The first, and that behind the last; None without an end."""


class RowsSide:
    """See Side. No step looks into it."""

    def __init__(self, declared: Rows, settings: Rooted) -> None:
        self._declared = declared
        self._folder = opened(place_of(declared, settings.root))

    def now(self) -> Pin:
        """See Side. Raises UpstreamUnfit."""
        log = log_of(self._declared.name, self._folder)
        return Pin(table_id=own_id(self._declared.name, log), version=log.newest)

    def has(self, pin: Pin) -> bool:
        """See Side: the files may be gone, of which only the comparison needs some."""
        log = log_of(self._declared.name, self._folder)
        return own_id(self._declared.name, log) == pin.table_id and pin.version <= log.newest

    def keep(self, pin: Pin) -> None:
        """See Side: `sluice maintain` does, of a table of this root."""

    def refuse_misdeclared(self) -> None:
        """See Side: of what has published nothing yet, the fields come from its spec."""

    def rows(self, spark: SparkSession, pin: Pin) -> DataFrame:  # noqa: ARG002 - the port's
        return spark.createDataFrame([], "nothing int")

    def changed(self, spark: SparkSession, since: Pin, until: Pin) -> Iterator[Changed]:  # noqa: ARG002 - as above
        """See Side. What drains have read is the earlier version and what was appended since; that
        is held against the later one.
        """
        of = self._declared
        log = log_of(of.name, self._folder)
        found = moves(log, since.version, until.version, of.event_time)
        if not found.replaced:
            return
        try:
            read = live_files(log, since.version, of.event_time)
        except LookupError:  # the log has no longer what that was
            yield Changed(None, None, None)
            return
        read |= {each.file.path: each.file for each in found.appended}
        gone = [file for path, file in read.items() if path not in found.live]
        come = [file for path, file in found.live.items() if path not in read]
        for span in self._differing(gone, come):
            yield Changed(None, *span)

    def _differing(self, gone: list[DataFile], come: list[DataFile]) -> list[Times]:
        both = [file for file in (*gone, *come) if file.rows]
        try:
            if sum(file.rows for file in both) <= MOST_ROWS:
                return self._by_rows(gone, come)
        except (FileNotFoundError, TableChanged):  # a VACUUM by hand
            pass
        if not all(file.told for file in both):
            return [(None, None)]
        times = ((file.first, min(file.last, LAST)) for file in both if file.first and file.last)
        spans = (Span(first, last + MICROSECOND) for first, last in times)
        return [*joined(spans, MOST_SPANS)]

    def _by_rows(self, gone: list[DataFile], come: list[DataFile]) -> list[Times]:
        """Each row of the two, by its event time and a digest of all that is read of it."""
        columns = {each.name: each.type for each in self._declared.fields}
        seen = Counter[tuple[int | None, bytes]]()
        for files, weight in ((gone, 1), (come, -1)):
            for part in (part for f in files for part in rows_of(str(self._folder), f, columns)):
                times = part.column(self._declared.event_time).cast("int64").to_pylist()
                for time, value in zip(times, as_json(part, columns), strict=True):
                    seen[time, blake2b(value, digest_size=16).digest()] += weight
        differ = {micros for (micros, _), count in seen.items() if count and micros is not None}
        times = (EPOCH + MICROSECOND * each for each in differ if RANGED[0] <= each < RANGED[1])
        near = joined((Span(time, time + NEAR) for time in times), MOST_SPANS)
        return [(span.start, span.end - NEAR + MICROSECOND) for span in near]
