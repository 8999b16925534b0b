"""Slices: at which offsets the records of some event times are, by ops.slices and without Spark.

The records that the slices leave out are in ops.late and ops.quarantine: a span's reader reads
these too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.source.positions import Offset, Parts, Positions
from spark_jobs.values.numbering import input_of
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.storage.root.paths import Paths


NEAR: Final = 4_000
"""Offsets that are read in about the time that one more range takes."""
MOST_RANGES: Final = 16
"""Ranges of one partition: each is a read of its own in Spark."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Index(NamedTuple):
    """The slices of a checkpoint's batches, from where its records begin to a horizon."""

    of: dict[int, _Slices]
    within: dict[int, Offset]
    """Partition -> the offsets that were drained."""

    @classmethod
    def read(
        cls, paths: Paths, known_generations: Iterable[str], start: Positions, end: Positions
    ) -> Index:
        """Slices of these generations. A partition without a start begins at 0."""
        stored = _stored(paths, known_generations)
        within = {p: part for p, [part] in start.parts(end).items()}
        return cls({p: _Slices.of(stored, p, part) for p, part in within.items()}, within)

    @classmethod
    def told(cls, stored: pa.Table) -> Index:
        """Of slices that nobody has to look up: as _stored gives them."""
        ends = stored.group_by("partition").aggregate(
            [("first_offset", "min"), ("last_offset", "max")]
        )
        within = {
            row["partition"]: (row["first_offset_min"], row["last_offset_max"] + 1)
            for row in ends.to_pylist()
        }
        return cls({p: _Slices.of(stored, p, part) for p, part in within.items()}, within)

    @property
    def lacking(self) -> Parts:
        """The offsets without a slice."""
        found = {p: tuple(gaps(self.of[p].ranges(), part)) for p, part in self.within.items()}
        return {p: ranges for p, ranges in found.items() if ranges}

    def overlapping(
        self, spans: Sequence[Span], apart: Mapping[int, Sequence[Span]] = MappingProxyType({})
    ) -> Parts:
        """The offsets of the slices that have a time in a span: of every record with such a time
        that is neither in ops.late nor in ops.quarantine, nor at an offset without a slice; and of
        others. `apart`: number of an input -> the spans for its partitions.
        """
        found = {
            p: tuple(
                clipped(of.ranges(of.overlapping(apart.get(input_of(p), spans))), self.within[p])
            )
            for p, of in self.of.items()
        }
        return {p: ranges for p, ranges in found.items() if ranges}

    def possible(self, spans: Sequence[Span]) -> Parts:
        """The same, and the offsets without a slice."""
        return together((self.overlapping(spans), self.lacking))

    def records_at(self, parts: Parts) -> int:
        """Records of the slices that these offsets touch: the first one and the last one of a range
        are counted whole.
        """
        return sum(self.of[p].records_at(ranges) for p, ranges in parts.items() if p in self.of)

    def newest_at(self, parts: Parts) -> datetime | None:
        """The newest event time of these slices; None if they have none."""
        newest = [
            at for p, ranges in parts.items() if p in self.of for at in self.of[p].times_at(ranges)
        ]
        return _EPOCH + timedelta(microseconds=max(newest)) if newest else None


def times(paths: Paths, generations: Iterable[str]) -> Span | None:
    """The first and the last event time of the slices; None without one."""
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    [row] = ops_tables.query(
        paths.root,
        "slices",
        "SELECT min(first_event_time) AS first, max(last_event_time) AS last FROM slices "
        f"WHERE {own}",
    ).to_pylist()
    return None if row["first"] is None else Span(row["first"], row["last"])


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
    """The offsets of the ranges that are not in `taken`. Both ascend, and there may be tens of
    thousands of each.

    >>> without([(0, 10), (20, 30)], [(5, 22), (25, 26)])
    [(0, 5), (22, 25), (26, 30)]
    """
    found, behind = list[Offset](), 0
    for each in ranges:
        while behind < len(taken) and taken[behind][1] <= each[0]:
            behind += 1
        until = behind
        while until < len(taken) and taken[until][0] < each[1]:
            until += 1
        found += gaps(taken[behind:until], each)
    return found


def less(parts: Parts, others: Parts) -> Parts:
    """The offsets of the parts that are not among the others."""
    found = {p: tuple(without(ranges, others.get(p, ()))) for p, ranges in parts.items()}
    return {p: ranges for p, ranges in found.items() if ranges}


def together(several: Iterable[Parts]) -> Parts:
    """All of them, and nothing between."""
    found: dict[int, list[Offset]] = {}
    for parts in several:
        for partition, ranges in parts.items():
            found.setdefault(partition, []).extend(ranges)
    return {p: tuple(merged(ranges, 1, len(ranges))) for p, ranges in found.items() if ranges}


def merged(
    ranges: Iterable[Offset],
    near: int = NEAR,
    most: int = MOST_RANGES,
    barred: Sequence[Offset] = (),
) -> list[Offset]:
    """The same offsets in at most `most` ranges, ascending, with `near` offsets or more from one to
    the next. So the offsets between the closest are added; but none of `barred`, which ascend and
    do not overlap: there may then be more ranges, and closer ones.

    >>> merged([(50, 60), (0, 10), (5, 20), (95, 99)], near=31, most=8)
    [(0, 60), (95, 99)]
    >>> merged([(0, 10), (20, 30), (40, 50)], most=1, barred=[(12, 15)])
    [(0, 10), (20, 50)]
    """
    ends = [stop for _, stop in barred]

    def free(first: int, stop: int) -> bool:
        """Whether none of the offsets between is barred."""
        place = bisect_right(ends, first)
        return stop <= first or place == len(barred) or barred[place][0] >= stop

    found: list[Offset] = []
    for first, stop in sorted(each for each in ranges if each[0] < each[1]):
        if found and first - found[-1][1] < max(near, 1) and free(found[-1][1], first):
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((first, stop))
    if not found:
        return []
    apart = range(1, len(found))
    must = [n for n in apart if not free(found[n - 1][1], found[n][0])]
    between = sorted({*apart} - {*must}, key=lambda n: found[n - 1][1] - found[n][0])
    kept = sorted([0, *must, *between[: max(0, most - 1 - len(must))]])
    return [
        (found[n][0], found[(after or len(found)) - 1][1])
        for n, after in zip(kept, [*kept[1:], None], strict=True)
    ]


def in_few(parts: Parts) -> Parts:
    """The offsets of the parts, of each partition as `merged` has them."""
    return {p: tuple(merged(ranges)) for p, ranges in parts.items()}


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

    def times_at(self, ranges: Iterable[Offset]) -> list[int]:
        """The newest times of the slices that these offsets touch, in microseconds since 1970."""
        found = self._none()
        for first, stop in ranges:
            found |= (self.first < stop) & (self.stop > first)
        newest: list[int] = self.latest[found & (self.earliest <= self.latest)].tolist()
        return newest

    def _none(self) -> npt.NDArray[np.bool_]:
        import numpy as np  # noqa: PLC0415 - as above

        return np.zeros(len(self.first), bool)


def _stored(paths: Paths, generations: Iterable[str]) -> pa.Table:
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    return ops_tables.query(
        paths.root,
        "slices",
        "SELECT partition, first_offset, last_offset, records, first_event_time, last_event_time "
        f"FROM slices WHERE {own} "
        "ORDER BY partition, first_offset, last_offset",
    )


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
