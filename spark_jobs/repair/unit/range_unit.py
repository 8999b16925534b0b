"""Range unit: ranges of a table whose rows have a place in time, by the late records, the
quarantined ones, or as they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from spark_jobs.checkpoint.notes.noted_versions import newest_noted, noted_now
from spark_jobs.errors import (
    RangeInvalid,
    RangeOpen,
    RangeUnsupported,
    RecordsUnreachable,
    StagingStale,
)
from spark_jobs.messages.kind import Reads
from spark_jobs.repair.exchange.commit import (
    Base,
    Prepared,
    Rows,
    condition,
    overwriting,
    refuse_features,
)
from spark_jobs.repair.exchange.staging import new_rows, old_rows
from spark_jobs.repair.find.late import LateSpans, Touching, count, in_ranges
from spark_jobs.repair.find.lost import Counted, count_holes, refuse_holes, refuse_lost
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.repair.find.plan import needs
from spark_jobs.repair.find.plan_text import left_lines, plan_lines
from spark_jobs.repair.find.quarantine import used_within
from spark_jobs.repair.offsets.archived import archive_records
from spark_jobs.repair.offsets.reach import Reach
from spark_jobs.repair.unit.sought import Found, Sought
from spark_jobs.source.place import Place
from spark_jobs.source.port import current_of
from spark_jobs.spec.analysis.ranged import Ranged, ranged, unranged
from spark_jobs.spec.analysis.rounding import rounding_line
from spark_jobs.storage.pin import versions
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import Span, joined

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.messages.request import Request
    from spark_jobs.repair.exchange.preconditions import Claim
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.find.replaying import Replaying
    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.repair.offsets.reach import Reading
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


class RangeUnit:
    """As unit.py has it."""

    rows: ClassVar = "spark_jobs.repair.unit.range_rows:RangeRows"

    def __init__(self, spec: Pipeline) -> None:
        self.spec = spec

    @property
    def unranged(self) -> str | None:
        return unranged(self.spec)

    @property
    def way(self) -> Ranged:
        return ranged(self.spec)

    def refuse(self, request: Request) -> None:
        if request.keys:
            raise RangeInvalid.keys_of_none(pipeline=self.spec.name)

    def find(self, sought: Sought) -> Found:
        """Also raises AccountBehind."""
        spec, way, paths, closed = self.spec, sought.way, sought.paths, sought.closed
        known, request, brought = closed.found, sought.request, sought.brought
        ranges = FINDERS[request.facts.reads](sought)
        reach = _reach(sought)
        left = _left_out(reach, [each.span for each in ranges.touching], request)
        if ranges.replays:
            ranges.replays.leave(left)
        taken = [each for each in ranges.touching if each.span not in left]
        spans = tuple(each.span for each in taken)
        needed = joined(way.needed(span) for span in spans)
        reading = reach.reading(spans, brought.parts if brought else None)
        sought.refuse_more(reading.where)
        counted = _counted(sought, reach, reading)
        apart = way.apart(spans)
        within = needs(needed, apart) if spans else "false"
        of = (known.identity.generations, closed.batch, within)
        late, used = 0, set[Place]()
        if not reach.current:
            late, used = count(paths, "late", *of), used_within(paths, spec.inputs, *of)
        # No record has a time there, or no window ends there.
        found = reading.parts or late or used or (ranges.replays and ranges.replays.records)
        if not (found or (reach.current and needed)):  # whose records may have gone
            spans = ()
        return Found(
            spans,
            needed,
            apart,
            reading.where,
            reach.slices.records_at(reading.parts) + counted.found,
            partial(_lines, sought, reach, ranges, left, counted),
            late,
            used,
            ranges.replays,
            counted.lost,
            reach.current,
        )

    def around(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        return tuple(spans)

    def put_in(self, paths: Paths, claim: Claim) -> Prepared:
        return _replaced(paths, claim, partial(new_rows, paths, claim.manifest))

    def take_out(self, paths: Paths, claim: Claim) -> Prepared:
        # The rows that are to go are kept beside the table: no file of an older version is read.
        swapped_in = partial(new_rows, paths, claim.manifest, older=True)
        return _replaced(paths, claim, partial(_old, paths, claim.manifest), swapped_in)


class _Ranges(NamedTuple):
    """What a request comes to."""

    touching: list[Touching]
    """Each range, with the late records and changes that a repair finds in it."""
    waits: int = 0
    """Late records that are left, since drains still write their rows."""
    replays: Replaying | None = None
    """What was found in quarantine."""


def _reach(of: Sought) -> Reach:
    """Raises AccountBehind."""
    known, closed = of.closed.found, of.closed
    if (current := current_of(of.way.spec, of.source)) is None:
        return Reach.of(of.way, of.paths, known.identity, known.topic.earliest, closed.horizon)
    pins = newest_noted(known.checkpoint, of.way.spec)
    return Reach.told(of.way, current.slices(versions(pins), closed.horizon))


def _by_waiting(of: Sought) -> _Ranges:
    closed, bound = of.closed, of.request.span
    own = (of.way, of.paths, closed.found.identity.generations, closed.batch)
    late = LateSpans(*own)
    outdated = Outdated(*own, noted_now(closed.found.checkpoint, of.way.spec))
    touching = [*late.ranges(closed.until, bound), *outdated.ranges(closed.until, bound)]
    return _Ranges(in_ranges(touching), late.too_early(closed.until))


def _by_excised(of: Sought) -> _Ranges:
    closed = of.closed
    own = (of.way, of.paths, closed.found.identity.generations, closed.batch)
    outdated = Outdated(*own, of.excised)
    return _Ranges(in_ranges(outdated.ranges(closed.until, of.request.span)))


def _by_quarantined(of: Sought) -> _Ranges:
    """Raises RangeUnsupported."""
    if current_of(of.way.spec, of.source):
        raise RangeUnsupported.rows_there(pipeline=of.way.spec.name)
    found = of.replaying()
    return _Ranges([Touching(span, 0) for span in found.spans], replays=found)


def _as_given(of: Sought) -> _Ranges:
    """Raises RangeOpen where drains still write."""
    closed, given = of.closed, of.brought.spans if of.brought else (of.request.span,)
    spans = [span for span in given if span is not None]  # request.py refuses a kind without both
    if spans[-1].end > closed.until:
        raise RangeOpen.still_written(
            pipeline=of.way.spec.name, span=spans[-1], until=closed.until, batch=closed.batch
        )
    return _Ranges([Touching(span, 0) for span in spans])


FINDERS: Final[dict[Reads, Callable[[Sought], _Ranges]]] = {
    Reads.WAITING: _by_waiting,
    Reads.QUARANTINED: _by_quarantined,
    Reads.EXCISED: _by_excised,
    Reads.GIVEN: _as_given,
}
"""What a kind of repair reads -> how its ranges are found."""


def _left_out(reach: Reach, spans: Sequence[Span], request: Request) -> tuple[Span, ...]:
    """Ranges that nobody has typed, and whose records nobody has all: they keep no other from being
    computed. Empty if there is no other.
    """
    if request.facts.given:
        return ()
    found = reach.lacking(spans, without_lost=request.without_lost)
    return found if len(found) < len(spans) else ()


def _counted(of: Sought, reach: Reach, reading: Reading) -> Counted:
    spec, topic_id = of.way.spec, of.closed.found.topic.id
    try:
        refuse_lost(spec, reading, reach.slices.newest_at(reading.lost))
        archive = archive_records(of.paths.root, spec.inputs, topic_id)
        counted = count_holes(of.source, archive, reading)
        if not of.request.without_lost:
            refuse_holes(spec, counted)
    except RecordsUnreachable as error:
        if (broken := reach.broken) is None:
            raise
        # The archive may have them: first that is to be mended.
        raise RecordsUnreachable.archive_broken(
            lost=error.what, broken=broken.what, mend=broken.remedy, remedy=error.remedy
        ) from None
    return counted


def _lines(
    of: Sought,
    reach: Reach,
    ranges: _Ranges,
    left: Sequence[Span],
    counted: Counted,
    plan: RepairPlan,
) -> tuple[str, ...]:
    spec = of.way.spec
    covered = sum(stop - first for first, stop in reach.slices.within.values())
    taken = sum(each.records for each in ranges.touching if each.span not in left)
    changes = sum(each.changes for each in ranges.touching if each.span not in left)
    found = (taken, ranges.waits, changes)
    lines = plan_lines(plan, of.closed, spec.inputs, covered, found, counted)
    if rounding := rounding_line(spec):
        lines = (*lines, f"  rounding        {rounding}")
    every = sum(each.records for each in ranges.touching)
    lines = (*lines, *left_lines(left, every - taken))
    if plan.compacted and plan.parts:
        told = "  compaction      Kafka compacts the topic: a range of which it has removed records"
        lines = (*lines, f"{told} can be neither proved nor computed again")
    if (broken := reach.broken) and (plan.parts or plan.archived):
        unread = f"  archive         not read: {broken.what} Kafka has all that is needed."
        lines = (*lines, f"{unread} {broken.remedy}")
    return lines


def _replaced(paths: Paths, claim: Claim, coming: Rows, going: Rows | None = None) -> Prepared:
    manifest = claim.manifest
    spans = manifest.differing if going else manifest.compared
    own = table_of(paths)
    base = Base(own, claim.compared_at, manifest.position, spans, going).compared()
    if not manifest.differing:
        return Prepared(base, None)
    refuse_features(own)
    rows = coming(own.arrow())
    return Prepared(base, overwriting(rows, condition(own, manifest, rows)))


def _old(paths: Paths, manifest: Manifest, columns: pa.Schema) -> pa.Table:
    try:
        return old_rows(paths, manifest, columns)
    except ValueError as error:
        folder = paths.staging(manifest.repair_id)
        raise StagingStale.staging_damaged(
            rows=folder / "rows", changes=folder / "changes", error=error
        ) from None


class SessionUnit(RangeUnit):
    """A range too; but what its rows replace is found by their keys."""

    rows: ClassVar = "spark_jobs.repair.unit.session_rows:SessionRows"

    def around(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        before = self.spec.ranges.context or timedelta()
        return joined(span.widened(before, timedelta()) for span in spans)
