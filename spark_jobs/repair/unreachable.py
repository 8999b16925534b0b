"""Unreachable: of which rows neither Kafka nor an archive has all records any more, by the
questions that the planner asks, without counting in Kafka.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field as Described

from spark_jobs.contract.part import Part
from spark_jobs.contract.span import joined
from spark_jobs.repair.archived import archived_or_why, located
from spark_jobs.repair.beginning import beginning
from spark_jobs.repair.holes import EVER, Hole, holes
from spark_jobs.repair.reading import reading
from spark_jobs.repair.slices import Index, Parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.contract.micro_batch import Offsets
    from spark_jobs.contract.paths import Paths
    from spark_jobs.contract.ranged import Ranged
    from spark_jobs.contract.span import Span


class Gone(Part):
    """Offsets that nobody has any more, and of which no slice says the event times."""

    batch: int | None = Described(
        description="the batch that read them; null if no account says so"
    )
    partition: int = Described(description="their partition")
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


class Unreachable(NamedTuple):
    """What is to be asked of one table."""

    way: Ranged
    slices: Index
    holes: tuple[Hole, ...]
    places: tuple[Parts, Offsets]
    """What the archive has, and the first offsets that Kafka has."""

    @classmethod
    def of(
        cls, way: Ranged, paths: Paths, identity: Identity, earliest: Offsets, horizon: Offsets
    ) -> Unreachable:
        generations = identity.generations
        begin = beginning(paths, generations)
        index = Index.read(paths, generations, begin, horizon)
        has, _ = archived_or_why(paths.root, way.spec.topic, identity.topic_id)
        found = holes(way.spec, paths, generations, index.lacking)
        return cls(way, index, found, (has, earliest))

    def among(self, spans: Sequence[Span], waits: Sequence[Span]) -> set[Span]:
        """Those that a hole touches of which nobody has all; and of `waits` those too of which a
        record beside them is gone.
        """
        lost = [hole for hole in self.holes if not hole.empty and self._nowhere(hole)]
        found = {
            span for span in spans if any(each.touches([self.way.needed(span)]) for each in lost)
        }
        # One question for all of them, since nearly always Kafka has everything.
        if waits and self._lacks(waits):
            found |= {span for span in waits if self._lacks([span])}
        return found

    @property
    def gone(self) -> tuple[Gone, ...]:
        return tuple(
            Gone(
                batch=hole.batch,
                partition=partition,
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

    def _lacks(self, some: Sequence[Span]) -> bool:
        needed = joined(map(self.way.needed, some))
        return bool(reading(self.slices, (), needed, self.places).lost)
