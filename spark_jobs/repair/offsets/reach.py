"""Reach: which offsets a repair reads from where, which of them nobody has, and so which rows of a
table can be computed again. Planner and coverage ask the same questions; nothing is counted in
Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field as Described

from spark_jobs.messages.part import Part
from spark_jobs.repair.offsets.archived import Where, archived_or_why, beginning, located
from spark_jobs.repair.offsets.holes import EVER, Hole, holes
from spark_jobs.repair.offsets.slices import MOST_RANGES, NEAR, Index, less, merged, together
from spark_jobs.source.positions import Parts, Positions
from spark_jobs.values.spans import Span, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.errors import CheckpointBroken, FormatNewer
    from spark_jobs.repair.offsets.slices import Index
    from spark_jobs.source.positions import Offset
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.root.paths import Paths


class TouchedHole(NamedTuple):
    """A hole that a range touches."""

    hole: Hole
    where: Where
    """Where its offsets are."""


class Reading(NamedTuple):
    """What the rows of some ranges need."""

    parts: Parts
    """The offsets to read, and few others between them."""
    where: Where
    """Where these are; nowhere is none of them."""
    lost: Parts
    """Offsets with a slice that has a time in the ranges, and that are nowhere."""
    holes: tuple[TouchedHole, ...]
    """The holes that the ranges touch; their offsets that are somewhere are among `parts`."""
    needed: int
    """How many offsets the ranges need, wherever they are."""


def reading(
    index: Index,
    holes: Sequence[Hole],
    spans: Sequence[Span],
    places: tuple[Parts, Positions],
    every: Parts | None = None,
    apart: Mapping[int, Sequence[Span]] = MappingProxyType({}),
) -> Reading:
    """What the event times in `spans` need: `holes` are all of the index. Of `every`, all offsets
    are read. `places`: what the archive has, and the first offsets that Kafka has. `apart`: see
    Ranged.

    Offsets between two that are needed are read too, if that is cheaper: but none that nobody has,
    and none of a hole that the ranges do not touch.
    """
    noted = together((index.overlapping(spans, apart), every or {}))
    touched = [hole for hole in holes if spans and hole.touches(spans)]
    lost = located(noted, *places).nowhere
    parts = [TouchedHole(hole, located(hole.parts, *places)) for hole in touched]
    wanted = together((noted, *(hole.parts for hole in touched)))
    nowhere = together((lost, *(each.where.nowhere for each in parts)))
    chosen = less(wanted, nowhere)
    barred = together(
        (less(together(hole.parts for hole in holes), chosen), _unreadable(index, places))
    )
    found = {p: tuple(_read(ranges, barred.get(p, ()))) for p, ranges in chosen.items()}
    needed = sum(stop - first for ranges in wanted.values() for first, stop in ranges)
    return Reading(found, located(found, *places), lost, tuple(parts), needed)


def _read(ranges: Iterable[Offset], barred: Sequence[Offset]) -> list[Offset]:
    return merged(ranges, NEAR, MOST_RANGES, barred)


def _unreadable(index: Index, places: tuple[Parts, Positions]) -> Parts:
    has, earliest = places
    return less(earliest.cut({p: (part,) for p, part in index.within.items()}), has)


class Gone(Part):
    """Offsets that nobody has any more, and whose event times no slice says."""

    batch: int | None = Described(
        description="the batch that read them; null if no account says so"
    )
    partition: int = Described(description="their partition")
    place: str = Described(default="", description="it as people know it: with its topic's name")
    first_offset: int = Described(description="the first one")
    last_offset: int = Described(description="the last one")
    records: int | None = Described(
        description="the most records that the batch had at all such offsets; 0: retention took "
        "them before any drain had read them; null if no account says so"
    )
    earliest: datetime | None = Described(
        description="no record of these that a drain accepted is earlier; null if nothing says so"
    )
    before: datetime | None = Described(
        description="all records of these that a drain accepted are earlier; null likewise"
    )

    def __str__(self) -> str:
        where = f"partition {self.place}: offsets {self.first_offset:,} to {self.last_offset:,}"
        if self.records == 0:
            return f"{where} were gone before any drain had read them"
        records = "records" if self.records is None else f"{self.records:,} records at most"
        of = "an early batch" if self.batch is None else f"batch {self.batch}"
        start = f" from {self.earliest:%F %H:%M:%S} on" if self.earliest else ""
        end = f" before {self.before:%F %H:%M:%S}" if self.before else ""
        times = f"{start} and{end}" if start and end else start + end or " that nobody knows"
        return f"{where} are gone: {records} of {of}, with event times{times}"


class Reach(NamedTuple):
    """What there is of one table's records."""

    way: Ranged
    slices: Index
    holes: tuple[Hole, ...]
    places: tuple[Parts, Positions]
    """What the archive has, and the first offsets that Kafka has."""
    broken: CheckpointBroken | FormatNewer | None
    """Why nobody knows what the archive has."""
    current: bool = False
    """Whether the source has said where its records are."""

    @classmethod
    def of(
        cls, way: Ranged, paths: Paths, known: Identity, earliest: Positions, horizon: Positions
    ) -> Reach:
        """Of the batches up to the horizon."""
        generations = known.generations
        begin = beginning(paths, generations)
        index = Index.read(paths, generations, begin, horizon)
        has, broken = archived_or_why(paths.root, way.spec.inputs, known.topic_id)
        found = holes(way.spec, paths, generations, index.lacking)
        return cls(way, index, found, (has, earliest), broken)

    @classmethod
    def told(cls, way: Ranged, slices: pa.Table) -> Reach:
        """By what the source says of its records (source/port.py): all that is in a slice is there,
        and what is in none is not to be read.
        """
        index = Index.told(slices)
        dead = index.lacking
        barred = (Hole(None, dead, None, Span(EVER.start, EVER.start)),) if dead else ()
        begins = Positions(dict.fromkeys(index.within, 0))
        return cls(way, index, barred, ({}, begins), None, current=True)

    def reading(self, spans: Sequence[Span], every: Parts | None = None) -> Reading:
        """What the rows in these spans need. Of `every`, all offsets are read."""
        needed, apart = joined(map(self.way.needed, spans)), self.way.apart(spans)
        return reading(self.slices, self.holes, needed, self.places, every, apart)

    def lacking(self, spans: Sequence[Span], *, without_lost: bool = False) -> tuple[Span, ...]:
        """Spans whose records nobody has all. `without_lost`: those in holes do not count."""
        # One question for all of them, since nearly always everything is there; then by halves,
        # since those that are not are neighbours.
        if not spans or self._whole(spans, without_lost):
            return ()
        if len(spans) == 1:
            return (spans[0],)
        middle = len(spans) // 2
        halves = spans[:middle], spans[middle:]
        return tuple(
            span for half in halves for span in self.lacking(half, without_lost=without_lost)
        )

    def touched(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Spans that a hole can touch which nobody has whole, whatever waits for a repair."""
        lost = [hole for hole in self.holes if not hole.empty and self._nowhere(hole)]
        needed = {span: [self.way.needed(span)] for span in spans} if lost else {}
        return tuple(span for span, of in needed.items() if any(each.touches(of) for each in lost))

    @property
    def gone(self) -> tuple[Gone, ...]:
        return tuple(
            Gone(
                batch=hole.batch,
                partition=partition,
                place=self.way.spec.inputs.shown(partition),
                first_offset=first,
                last_offset=stop - 1,
                records=hole.records,
                earliest=None if hole.empty or hole.times.start == EVER.start else hole.times.start,
                before=None if hole.empty or hole.times.end == EVER.end else hole.times.end,
            )
            for hole in self.holes
            for partition, ranges in sorted(self._nowhere(hole).items())
            for first, stop in ranges
        )

    def _nowhere(self, hole: Hole) -> Parts:
        return located(hole.parts, *self.places).nowhere

    def _whole(self, spans: Sequence[Span], without_lost: bool) -> bool:
        found = self.reading(spans)
        had = all(each.hole.empty or not each.where.nowhere for each in found.holes)
        return not found.lost and (without_lost or had)
