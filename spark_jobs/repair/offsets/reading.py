"""Reading: which offsets a repair reads from where, and which that it needs nobody has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.repair.offsets.archived import Where, located
from spark_jobs.repair.offsets.slices import MOST_RANGES, NEAR, gaps, merged, without

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spark_jobs.repair.offsets.holes import Hole
    from spark_jobs.repair.offsets.slices import Index
    from spark_jobs.source.micro_batch import Offset, Offsets, Parts
    from spark_jobs.spans.span import Span


class Part(NamedTuple):
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
    holes: tuple[Part, ...]
    """The holes that the ranges touch; their offsets that are somewhere are among `parts`."""
    needed: int
    """How many offsets the ranges need, wherever they are."""

    @property
    def has_holes(self) -> bool:
        """Whether all offsets of these holes are somewhere that a drain had read."""
        return all(each.hole.empty or not each.where.nowhere for each in self.holes)


def reading(
    index: Index,
    holes: Sequence[Hole],
    spans: Sequence[Span],
    places: tuple[Parts, Offsets],
    every: Parts | None = None,
) -> Reading:
    """What the event times in `spans` need: `holes` are all of the index. Of `every`, all offsets
    are read. `places`: what the archive has, and the first offsets that Kafka has.

    Offsets between two that are needed are read too, if that is cheaper: but none that nobody has,
    and none of a hole that the ranges do not touch.
    """
    noted = _joined((index.overlapping(spans), every or {}))
    touched = [hole for hole in holes if spans and hole.touches(spans)]
    lost = located(noted, *places).nowhere
    parts = [Part(hole, located(hole.parts, *places)) for hole in touched]
    wanted = _joined((noted, *(hole.parts for hole in touched)))
    nowhere = _joined((lost, *(each.where.nowhere for each in parts)))
    chosen = _less(wanted, nowhere)
    barred = _joined(
        (_less(_joined(hole.parts for hole in holes), chosen), _unreadable(index, places))
    )
    found = {p: tuple(_read(ranges, barred.get(p, ()))) for p, ranges in chosen.items()}
    needed = sum(stop - first for ranges in wanted.values() for first, stop in ranges)
    return Reading(found, located(found, *places), lost, tuple(parts), needed)


def _read(ranges: Iterable[Offset], barred: Sequence[Offset]) -> list[Offset]:
    return merged(ranges, NEAR, MOST_RANGES, barred)


def _joined(several: Iterable[Parts]) -> Parts:
    found: dict[int, list[Offset]] = {}
    for parts in several:
        for partition, ranges in parts.items():
            found.setdefault(partition, []).extend(ranges)
    return {p: tuple(merged(ranges, 1, len(ranges))) for p, ranges in found.items() if ranges}


def _less(parts: Parts, others: Parts) -> Parts:
    found = {p: tuple(without(ranges, others.get(p, ()))) for p, ranges in parts.items()}
    return {p: ranges for p, ranges in found.items() if ranges}


def _unreadable(index: Index, places: tuple[Parts, Offsets]) -> Parts:
    has, earliest = places
    found = {
        p: tuple(gaps(has.get(p, ()), (begin, min(stop, earliest.get(p, 0)))))
        for p, (begin, stop) in index.within.items()
        if begin < earliest.get(p, 0)
    }
    return {p: ranges for p, ranges in found.items() if ranges}
