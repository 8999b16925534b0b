"""Archive merge: the records that the live table was made from and that Kafka has no longer, put
into the table beside from the topic's archive.

NEXT drains what Kafka has. Then the rows that older records touch are computed again from the
archive and from Kafka, as a backfill, which needs no state. The records get slices of their own, so
that they are among the table's records from then on.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from spark_jobs.analysis.ranged import ranged
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import RangeOpen, RebuildRefused
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.rebuild.archive_times import slices, times
from spark_jobs.rebuild.older import NOTE, Older, older, put_in
from spark_jobs.rebuild.side_repair import repair_beside
from spark_jobs.repair.offsets.beginning import NO_BATCH
from spark_jobs.repair.planner import Brought, plan_repair
from spark_jobs.spans.span import FIRST, LAST, MICROSECOND, Span, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.messages.report import Report
    from spark_jobs.rebuild.run import Rebuilding

SHOWN = 5
"""Ranges that are said one by one."""


def merge_archived(it: Rebuilding) -> tuple[Report, ...]:
    """Put them in, once; nothing if there are none, or they are in. The report of the backfill.

    Raises RangeOpen while drains of NEXT still write rows that they touch; RangeInvalid for too
    many records; RecordsUnreachable; the problem of the run.
    """
    known, parts = read_identity(it.side), pending(it)
    if known is None or not parts or it.without_lost:
        return ()
    found = times(it, parts)
    spans = _spans(it, found.days)
    ours: dict[str, str | int] = {
        "pipeline": it.following.name,
        "batch_id": NO_BATCH,
        "generation": known.generation,
    }
    which = ops_tables.equals(ours)
    ops_tables.replace(it.side.root, "slices", slices(it, parts), which)
    # Its ranges are found, and may be years apart: no person has typed them.
    request = Request.found("backfill", who=it.who, note=NOTE, most_records=it.most_records)
    # All of them are read, so that the bad ones among them are in quarantine.
    brought = Brought({partition: (part,) for partition, part in parts.items()}, spans)
    planned = plan_repair(it.following, it.settings, request, brought)
    report, _ = repair_beside(it, planned, f"{it.run}-archive")
    bad = report.change.newly_bad if report.change else 0
    for line in _told(spans if found.days else (), parts, bad, found.outside):
        it.say(line)
    return (report,)


def _told(spans: Sequence[Span], parts: Older, bad: int, outside: int) -> Iterator[str]:
    count = sum(stop - first for first, stop in parts.values())
    kept = f"; {bad:,} of them are malformed or premature, and in quarantine" if bad else ""
    shown = "; ".join(map(str, spans[:SHOWN]))
    more = f"; and {len(spans) - SHOWN} more" if len(spans) > SHOWN else ""
    of = f"computed {shown}{more} again, with" if spans else "read"
    yield f"  {of} {count:,} records that only the archive has{kept}"
    if outside:
        yield (
            f"  {outside:,} of them have event times that are not of the years {FIRST.year} to "
            f"{LAST.year}: no range has rows of such times, and the rebuilt table has none of them"
        )


def pending(it: Rebuilding) -> Older:
    """The offsets that are still to be put in."""
    known = read_identity(it.side)
    if known is None or not Checkpoint(it.side.checkpoint).committed():
        return {}
    if put_in(it.side, it.following.name):
        return {}
    return older(it.paths, it.side, it.live, it.following, {})


def refuse_pending(it: Rebuilding) -> None:
    """Raise RebuildRefused if a switch would lose what only the archive has."""
    if not it.without_lost and (parts := pending(it)):
        count = sum(stop - first for first, stop in parts.values())
        raise RebuildRefused.archive_unread(pipeline=it.following.name, count=count)


def _spans(it: Rebuilding, days: Sequence[Span]) -> tuple[Span, ...]:
    """If none of the records is good, the first range that there can be: they are read all the
    same. Raises RangeOpen.
    """
    spec, way = it.following, ranged(it.following)
    if not days:
        return (way.touched(FIRST),)
    checkpoint = Checkpoint(it.side.checkpoint)
    until = way.closed_until(checkpoint.batch(checkpoint.committed()[-1]).watermark)
    near = spec.watermark_delay or timedelta()
    found = joined(
        Span(
            way.touched(max(day.start - near, FIRST)).start,
            way.touched(min(day.end - MICROSECOND + near, LAST - MICROSECOND)).end,
        )
        for day in days
    )
    if until is None or found[-1].end > until:
        raise RangeOpen.archive_open(
            pipeline=spec.name, newest=days[-1].end - MICROSECOND, until=until or "none"
        )
    return found
