"""Slices: at which offsets the records of some event times are, by ops.slices and without Spark.

The records that the slices leave out are in ops.late and ops.quarantine: whoever needs those of a
span reads these too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.contract.micro_batch import Offsets
from spark_jobs.contract.span import Span
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.contract.paths import Paths

Offset = tuple[int, int]
"""Offsets of one partition, from the first one up to the second one, which is not among them."""

NEAR: Final = 4_000
"""Offsets that are read in about the time that one more range takes."""
MOST_RANGES: Final = 16
"""Ranges of one partition: each is a read of its own in Spark."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Found(NamedTuple):
    """Where the records are."""

    parts: dict[int, tuple[Offset, ...]]
    """Partition -> the offsets to read, ascending. A partition of which nothing is to be read is
    not among them.
    """
    records: int
    """Records at these offsets, as the slices count them: the first and the last slice are counted
    whole. Those at unknown offsets are not among them.
    """
    unknown: int
    """Offsets without a slice, each of which is to be read."""


def offsets_of(
    paths: Paths,
    known_generations: Iterable[str],
    spans: Sequence[Span],
    start: Offsets,
    end: Offsets,
    every: Mapping[int, Sequence[Offset]] | None = None,
) -> Found:
    """The offsets, from `start` up to `end`, of every record with an event time in a span that is
    neither in ops.late nor in ops.quarantine, and of others.

    A partition without a start begins at 0. Offsets without a slice are among them: nobody noted
    the times there. So are those of `every`.
    """
    stored = _stored(paths, known_generations)
    parts, records, unknown = dict[int, tuple[Offset, ...]](), 0, 0
    for partition, stop in sorted(end.items()):
        within = start.get(partition, 0), stop
        if within[0] >= stop:
            continue
        slices = _Slices.of(stored, partition, within)
        lacking = gaps(slices.ranges(), within)
        wanted = [*slices.ranges(slices.overlapping(spans)), *lacking]
        wanted += (every or {}).get(partition, ())
        if found := merged(wanted, NEAR, MOST_RANGES):
            parts[partition] = tuple(clipped(found, within))
            records += slices.records_at(parts[partition])
            unknown += sum(last - first for first, last in lacking)
    return Found(parts, records, unknown)


def times(paths: Paths, generations: Iterable[str]) -> Span | None:
    """The first and the last event time of the slices; None without one."""
    own = ops_tables.equals({"pipeline": paths.pipeline})
    [row] = ops_tables.query(
        paths.root,
        "slices",
        "SELECT min(first_event_time) AS first, max(last_event_time) AS last FROM slices "
        f"WHERE {own} AND {ops_tables.among('generation', generations)}",
    ).to_pylist()
    return None if row["first"] is None else Span(row["first"], row["last"])


def newest_at(
    paths: Paths, generations: Iterable[str], parts: dict[int, tuple[Offset, ...]]
) -> datetime | None:
    """The newest event time of the slices at these offsets; None if one of them has no slice, or no
    record there has a time.
    """
    stored, newest = _stored(paths, generations), list[int]()
    for partition, ranges in parts.items():
        for within in ranges:
            slices = _Slices.of(stored, partition, within)
            if gaps(slices.ranges(), within):
                return None
            newest += slices.latest[slices.earliest <= slices.latest].tolist()
    return _EPOCH + timedelta(microseconds=max(newest)) if newest else None


def gaps(ranges: Iterable[Offset], within: Offset) -> list[Offset]:
    """What the ranges, ascending by their start, leave out.

    >>> gaps([(2, 5), (3, 4), (7, 8)], (0, 10))
    [(0, 2), (5, 7), (8, 10)]
    """
    found, at = [], within[0]
    for first, stop in [*ranges, (within[1], within[1])]:
        if at < min(first, within[1]):
            found.append((at, min(first, within[1])))
        at = max(at, stop)
    return found


def without(ranges: Iterable[Offset], taken: Sequence[Offset]) -> list[Offset]:
    """The offsets of the ranges that are not in those of `taken`, which ascend.

    >>> without([(0, 10), (20, 30)], [(5, 22), (25, 26)])
    [(0, 5), (22, 25), (26, 30)]
    """
    return [left for each in ranges for left in gaps(taken, each)]


def merged(ranges: Iterable[Offset], near: int = NEAR, most: int = MOST_RANGES) -> list[Offset]:
    """The same offsets in at most `most` ranges, ascending, with `near` offsets or more from one to
    the next. So the offsets between the closest are added.

    >>> merged([(50, 60), (0, 10), (5, 20), (95, 99)], near=31, most=8)
    [(0, 60), (95, 99)]
    """
    found: list[Offset] = []
    for first, stop in sorted(each for each in ranges if each[0] < each[1]):
        if found and first - found[-1][1] < max(near, 1):
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((first, stop))
    if not found:
        return []
    between = sorted(range(1, len(found)), key=lambda n: found[n - 1][1] - found[n][0])
    kept = sorted([0, *between[: most - 1]])
    return [
        (found[n][0], found[(after or len(found)) - 1][1])
        for n, after in zip(kept, [*kept[1:], None], strict=True)
    ]


def clipped(ranges: Iterable[Offset], within: Offset) -> list[Offset]:
    """What of the ranges is within."""
    cut = ((max(first, within[0]), min(stop, within[1])) for first, stop in ranges)
    return [(first, stop) for first, stop in cut if first < stop]


class _Slices(NamedTuple):
    """The slices of one partition, by their first offset. Columns, since there may be millions."""

    first: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    records: npt.NDArray[np.int64]
    earliest: npt.NDArray[np.int64]
    """Event time, in microseconds since the epoch; after `latest` in a slice without any."""
    latest: npt.NDArray[np.int64]

    @classmethod
    def of(cls, stored: pa.Table, partition: int, within: Offset) -> _Slices:
        import pyarrow.compute as pc  # noqa: PLC0415 - the driver that only plans needs none

        rows = stored.filter(
            (pc.field("partition") == partition)
            & (pc.field("first_offset") < within[1])
            & (pc.field("last_offset") >= within[0])
        )
        first, last, records = (
            rows[name].to_numpy() for name in ("first_offset", "last_offset", "records")
        )
        times = [
            pc.fill_null(rows[name].cast("int64"), none).to_numpy()
            for name, none in (("first_event_time", 1), ("last_event_time", 0))
        ]
        return cls(first, last + 1, records, *times)

    def overlapping(self, spans: Iterable[Span]) -> npt.NDArray[np.bool_]:
        """Which of them may have a time in one of the spans."""
        found = self._none()
        for span in spans:
            if not span.empty:
                found |= (self.earliest < _micros(span.end)) & (self.latest >= _micros(span.start))
        return found & (self.earliest <= self.latest)

    def ranges(self, which: npt.NDArray[np.bool_] | None = None) -> list[Offset]:
        """Their offsets, of all or of some. Those that touch are one range."""
        import numpy as np  # noqa: PLC0415 - as above

        chosen = ~self._none() if which is None else which
        first, stop = self.first[chosen], self.stop[chosen]
        if not len(first):
            return []
        apart = first[1:] > np.maximum.accumulate(stop)[:-1]
        begins = np.flatnonzero(np.concatenate(([True], apart)))
        stops = np.maximum.reduceat(stop, begins)
        return list(zip(first[begins].tolist(), stops.tolist(), strict=True))

    def records_at(self, ranges: Iterable[Offset]) -> int:
        """Records of the slices that these offsets touch."""
        found = self._none()
        for first, stop in ranges:
            found |= (self.first < stop) & (self.stop > first)
        return int(self.records[found].sum())

    def _none(self) -> npt.NDArray[np.bool_]:
        import numpy as np  # noqa: PLC0415 - as above

        return np.zeros(len(self.first), bool)


def _stored(paths: Paths, generations: Iterable[str]) -> pa.Table:
    own = ops_tables.equals({"pipeline": paths.pipeline})
    return ops_tables.query(
        paths.root,
        "slices",
        "SELECT partition, first_offset, last_offset, records, first_event_time, last_event_time "
        f"FROM slices WHERE {own} AND {ops_tables.among('generation', generations)} "
        "ORDER BY partition, first_offset, last_offset",
    )


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
