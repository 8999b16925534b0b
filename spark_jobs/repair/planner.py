"""Planner: finds which ranges a repair computes again, and from which records; without a JVM.

It asks the broker and reads the checkpoint and the ops tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.analysis.ranged import Ranged, ranged
from spark_jobs.analysis.rounding import rounding_line
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.made_by import Present
from spark_jobs.errors import (
    CheckpointBroken,
    FormatNewer,
    RangeInvalid,
    RangeOpen,
    RecordsUnreachable,
)
from spark_jobs.journal.runner import settle
from spark_jobs.messages.kind import Reads
from spark_jobs.repair.find import quarantine
from spark_jobs.repair.find.closed import Closed, closed_by
from spark_jobs.repair.find.late import count_within
from spark_jobs.repair.find.late_spans import LateSpans, Touching
from spark_jobs.repair.find.lost import count_holes, refuse_holes, refuse_lost
from spark_jobs.repair.find.plan import RepairPlan, by_partition, digest, new_id, offsets_in
from spark_jobs.repair.find.plan_keys import plan_keys
from spark_jobs.repair.find.plan_text import left_lines, plan_lines, replay_lines
from spark_jobs.repair.find.quarantine import used_within
from spark_jobs.repair.find.replaying import Replaying
from spark_jobs.repair.offsets.archived import archive_records
from spark_jobs.repair.offsets.reach import Reach
from spark_jobs.root.paths import Paths
from spark_jobs.runs.preflight import preflight
from spark_jobs.side.sides import newest
from spark_jobs.sink import table
from spark_jobs.source.micro_batch import Parts
from spark_jobs.source.sources import source_of
from spark_jobs.spans.span import Span, joined
from spark_jobs.storage.object_store import require_writable
from spark_jobs.table.delta.door import is_table

if TYPE_CHECKING:
    from spark_jobs.messages.request import Request
    from spark_jobs.repair.offsets.reading import Reading
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


class Brought(NamedTuple):
    """Records that the table has none of yet, and that no drain reads: a rebuild has them from an
    archive.
    """

    parts: Parts
    """Their offsets; all are read."""
    spans: tuple[Span, ...]
    """The rows that they touch, in place of the range of a request."""


def plan_repair(
    spec: Pipeline, settings: Settings, request: Request, brought: Brought | None = None
) -> RepairPlan:
    """Find the ranges and the records. Writes nothing, but completes a change that was begun.

    Raises RangeUnsupported, RangeInvalid, RangeOpen, AccountBehind, RecordsUnreachable, and all
    errors of the preflight.
    """
    if spec.keyed:
        return plan_keys(spec, settings, request)
    if request.keys:
        raise RangeInvalid.keys_of_none(pipeline=spec.name)
    return _plan_ranges(spec, settings, request, brought)


def _plan_ranges(
    spec: Pipeline, settings: Settings, request: Request, brought: Brought | None
) -> RepairPlan:
    way = ranged(spec)
    approve = request.approval(spec.ranges.approve)
    paths, source = Paths(settings.root, spec), source_of(spec, settings)
    require_writable(paths)
    settle(paths, "plan of a repair")
    # Before the batches are looked at: rows of a batch that ends in between would be taken for
    # rows without a record.
    compared = table.version(paths.table) if is_table(paths.table) else 0
    closed = closed_by(way, paths, preflight(Present(spec), source, paths, settings))
    generations = closed.found.identity.generations
    found, waits, replays = FINDERS[request.facts.reads](
        _Sought(way, settings, paths, closed, request, brought)
    )
    reach = Reach.of(way, paths, closed.found.identity, closed.found.topic.earliest, closed.horizon)
    left = _left_out(reach, [each.span for each in found], request)
    if replays:
        replays.leave(left)
    spans = tuple(each.span for each in found if each.span not in left)
    needed = joined(way.needed(span) for span in spans)
    where = reach.reading(spans, brought.parts if brought else None)
    _refuse_more(spec.name, where, request)
    topic = closed.found.topic
    try:
        refuse_lost(spec, where, reach.slices.newest_at(where.lost))
        archive = archive_records(paths.root, spec.topic, topic.id)
        counted = count_holes(source, archive, where)
        if not request.without_lost:
            refuse_holes(spec, counted)
    except RecordsUnreachable as error:
        raise _behind_archive(error, reach.broken) if reach.broken else error from None
    late = count_within(paths, generations, closed.batch, needed)
    used = used_within(paths, spec.topic, generations, closed.batch, needed)
    replayed = tuple(sorted(replays.records)) if replays else ()
    # No record has a time there, or no window ends there.
    if not (where.parts or late or used or replayed):
        spans = ()
    plan = RepairPlan(
        repair_id=new_id(),
        pipeline=spec.name,
        kind=request.kind,
        note=request.note,
        who=request.who,
        approve="always" if counted.lost else approve,
        spans=spans,
        needed=needed,
        generations=generations,
        table_version=compared,
        spec_digest=digest(spec),
        batch=closed.batch,
        horizon=closed.horizon,
        parts=where.where.source,
        archived=where.where.archive,
        records=reach.slices.records_at(where.parts) + counted.found,
        without=counted.lost,
        topic_id=closed.found.topic.id,
        compacted=closed.found.topic.compacted,
        quarantined=by_partition({*used, *(each[:2] for each in replayed)}),
        replays=replayed,
        late=late,
        until=closed.until,
        inputs=newest(spec, settings),
        lines=(),
    )
    covered = sum(stop - first for first, stop in reach.slices.within.values())
    touching = sum(each.records for each in found if each.span not in left)
    lines = plan_lines(plan, closed, spec.topic, covered, touching, waits, counted)
    if rounding := rounding_line(spec):
        lines = (*lines, f"  rounding        {rounding}")
    lines = (*lines, *left_lines(left, sum(each.records for each in found) - touching))
    if plan.compacted and plan.parts:
        told = "  compaction      Kafka compacts the topic: a range of which it has removed records"
        lines = (*lines, f"{told} can be neither proved nor computed again")
    if reach.broken and where.parts:
        unread = f"  archive         not read: {reach.broken.what} Kafka has all that is needed."
        lines = (*lines, f"{unread} {reach.broken.remedy}")
    if replays:
        lines = replay_lines(lines, plan, replays, request.reason)
    if spans and (held := holder(paths.staging_lease)):
        lines = (*lines, f"  not now         another repair is being computed by {held}")
    return plan.model_copy(update={"lines": lines})


def _refuse_more(name: str, found: Reading, request: Request) -> None:
    if (offsets := offsets_in(found.parts)) > request.most_records:
        raise RangeInvalid.too_many_records(
            pipeline=name,
            offsets=offsets,
            most_records=request.most_records,
        )


class _Sought(NamedTuple):
    """What the ranges are found by."""

    way: Ranged
    settings: Settings
    paths: Paths
    closed: Closed
    request: Request
    brought: Brought | None


class _Found(NamedTuple):
    ranges: list[Touching]
    """Each with the late records that a repair finds in it."""
    waits: int = 0
    """Late records that are left, since drains still write their rows."""
    replays: Replaying | None = None
    """What was found in quarantine."""


def _by_late(of: _Sought) -> _Found:
    closed = of.closed
    late = LateSpans(of.way, of.paths, closed.found.identity.generations, closed.batch)
    return _Found(late.ranges(closed.until, of.request.span), late.too_early(closed.until))


def _by_quarantined(of: _Sought) -> _Found:
    way, closed = of.way, of.closed
    found = Replaying(way, closed.until, of.request.span)
    for each in quarantine.waiting(
        way.spec,
        of.paths,
        closed.found.identity.generations,
        closed.batch,
        of.request.reason,
        of.settings,
    ):
        found.add(each)
    return _Found([Touching(span, 0) for span in found.spans], replays=found)


def _as_given(of: _Sought) -> _Found:
    """Raises RangeOpen where drains still write."""
    closed = of.closed
    given = of.brought.spans if of.brought else (Span(*_given(of.request)),)
    if given[-1].end > closed.until:
        raise RangeOpen.still_written(
            pipeline=of.way.spec.name,
            span=given[-1],
            until=closed.until,
            batch=closed.batch,
        )
    return _Found([Touching(span, 0) for span in given])


FINDERS: Final[dict[Reads, Callable[[_Sought], _Found]]] = {
    Reads.LATE: _by_late,
    Reads.QUARANTINED: _by_quarantined,
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


def _given(request: Request) -> tuple[datetime, datetime]:
    if request.start is None or request.end is None:
        message = "messages/request.py refuses this kind without both ends"
        raise AssertionError(message)
    return request.start, request.end


def _behind_archive(
    error: RecordsUnreachable, broken: CheckpointBroken | FormatNewer
) -> RecordsUnreachable:
    """The archive may have them: first that is to be mended."""
    return RecordsUnreachable.archive_broken(
        lost=error.what, broken=broken.what, mend=broken.remedy, remedy=error.remedy
    )
