"""Sought: what a unit finds its records by, and what it has found."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.notes.excised import EXCISED
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.errors import RangeInvalid
from spark_jobs.repair.find import quarantine
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.find.replaying import Replaying

if TYPE_CHECKING:
    from collections.abc import Collection

    from spark_jobs.messages.request import Request
    from spark_jobs.repair.find.plan import Closed, RepairPlan
    from spark_jobs.repair.offsets.archived import Where
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.pin import Pin
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Span


class Brought(NamedTuple):
    """Records that the table has none of yet, and that no drain reads: a rebuild has them from an
    archive.
    """

    parts: Parts
    """Their offsets; all are read."""
    spans: tuple[Span, ...]
    """The rows that they touch, in place of the range of a request."""


class Sought(NamedTuple):
    """A request, and the place as it is."""

    way: Ranged
    settings: Settings
    paths: Paths
    source: Source
    closed: Closed
    request: Request
    brought: Brought | None = None

    def replaying(self) -> Replaying:
        """What is in quarantine, as a replay of it would take it."""
        spec, closed, request = self.way.spec, self.closed, self.request
        found = Replaying(self.way, closed.until, request.span)
        generations = closed.found.identity.generations
        for each in quarantine.waiting(
            spec, self.paths, generations, closed.batch, request.reason, self.settings
        ):
            found.add(each)
        return found

    @property
    def excised(self) -> dict[str, Pin]:
        """The version by which excised records are no longer there."""
        found = noted_now(self.closed.found.checkpoint, self.way.spec)
        return {name: pin for name, pin in found.items() if name == EXCISED}

    def refuse_more(self, where: Where) -> None:
        """Raise RangeInvalid for more offsets to read than the request allows."""
        offsets = offsets_in(where.source) + offsets_in(where.archive)
        if offsets > self.request.most_records:
            raise RangeInvalid.too_many_records(
                pipeline=self.way.spec.name, offsets=offsets, most_records=self.request.most_records
            )


class Found(NamedTuple):
    """What a repair is to compute, and from which records."""

    spans: tuple[Span, ...]
    """The positions of the rows; empty if there is nothing to do."""
    needed: tuple[Span, ...]
    """The event times of the records."""
    apart: dict[int, tuple[Span, ...]]
    """The same of each input, by its number, where a step takes inputs apart."""
    where: Where
    """Their offsets; nowhere: those that nobody has, whose rows in the table count as right."""
    records: int
    """How many are there, by the accounts of drains or as they are counted now."""
    lines: Callable[[RepairPlan], tuple[str, ...]]
    """The plan for a reader."""
    late: int = 0
    """Late records among those that are needed."""
    used: Collection[Place] = ()
    """Quarantined records that are in the rows."""
    replays: Replaying | None = None
    """What was found in quarantine."""
    without: int = 0
    """Records, at most, that the table has and that nobody can read again."""
    current: bool = False
    """As RepairPlan has it."""
    outdated: bool = False
    """See RepairPlan."""
