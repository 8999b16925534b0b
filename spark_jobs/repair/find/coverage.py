"""Coverage: which days of a table, or hours, have all their records, and which wait for a repair.

It reads the checkpoint and the ops tables, without a JVM and without a broker, and writes nothing.
`canonical` means that nothing which Sluice knows of is missing; `sluice verify` proves it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field as Described

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.errors import RangeOpen
from spark_jobs.messages.part import Part
from spark_jobs.ops.terms import UNDO
from spark_jobs.repair.find.done import Done, newest_of, repairs_of
from spark_jobs.repair.find.late import LateSpans, Touching, count, fates, late_fates
from spark_jobs.repair.find.outdated_rows import LENGTHS, Outdated
from spark_jobs.repair.find.plan import refuse_foreign
from spark_jobs.repair.find.quarantine import waiting
from spark_jobs.repair.find.ranges_due import (
    Balance,
    QuarantineBalance,
    balance,
    quarantine_balance,
)
from spark_jobs.repair.offsets.reach import Gone, Reach
from spark_jobs.repair.offsets.slices import times
from spark_jobs.spec.analysis.ranged import Ranged, mended
from spark_jobs.values.spans import FIRST, LAST, MICROSECOND, Span, floor

if TYPE_CHECKING:
    from spark_jobs.source.positions import Positions
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

MOST: Final = 20_000
"""Intervals. A longer history shows its newest ones: since 1970 there are half a million hours."""

MOST_READ: Final = 200_000
"""Quarantined records that a command decodes, in about two seconds."""
MOST_READ_BY_A_PAGE: Final = 5_000
"""In some 50 ms, in which the API server answers nobody else: decoding holds the interpreter."""


State = Literal["open", "unreachable", "staged", "late", "outdated", "replayable", "canonical"]


class Interval(Part):
    """A day or an hour, on the axis of positions."""

    start: datetime = Described(description="its first instant")
    end: datetime = Described(description="the first instant behind it")
    state: State = Described(
        description="open: drains still write its rows, or rows beside them that a late record "
        "touches too; late: late records wait for a repair; "
        "outdated: newer versions of tables beside the stream make its rows otherwise; "
        "replayable: records in quarantine are good by today's spec; "
        "staged: a repair of it waits for approval; unreachable: neither Kafka nor an archive has "
        "all of its records, and some wait, or nobody noted the times of those that are gone; "
        "canonical: nothing waits"
    )
    late: int = Described(description="late records that wait and touch a row of it")
    outdated: int = Described(
        default=0, description="changes of tables beside the stream that touch a row of it"
    )
    replayable: int = Described(
        default=0, description="records in quarantine that are good by today's spec and touch it"
    )
    repair_id: str | None = Described(description="what last computed rows of it; null if nothing")
    kind: str | None = Described(description="of that: repair, backfill, verify, replay or undo")
    at: datetime | None = Described(description="when that ended")
    who: str | None = Described(description="who asked for it")
    proved_at: datetime | None = Described(
        default=None,
        description="when a verify by today's spec proved it; null without one, and if a commit "
        "has changed a row of it since, or something waits",
    )
    refuted_at: datetime | None = Described(
        default=None, description="when a verify found other rows, if nothing changed them since"
    )
    provable_until: datetime | None = Described(
        default=None,
        description="until when retention certainly leaves the records that a verify needs, if "
        "that is within 30 days; null: for longer, or nobody can tell",
    )
    untold: bool = Described(default=False, description="whether nobody can tell until when")

    @property
    def span(self) -> Span:
        """All of it."""
        return Span(self.start, self.end)


class Coverage(Part):
    """A pipeline's coverage, oldest interval first."""

    pipeline: str = Described(description="the pipeline")
    batch: int = Described(description="the newest batch that is accounted for")
    until: datetime | None = Described(
        description="no drain writes a row before this position any more; null: there is no "
        "watermark yet"
    )
    intervals: tuple[Interval, ...] = Described(description="the newest ones, at most 20,000")
    left_out: int = Described(description="older intervals that are not shown")
    gone: tuple[Gone, ...] = Described(
        default=(),
        description="offsets without a slice that neither Kafka nor an archive has any more; empty "
        "where Kafka did not answer",
    )
    balance: Balance = Described(description="what became of the late records")
    untold: str = Described(
        default="", description="why nobody can tell until when Kafka keeps records"
    )
    quarantine: QuarantineBalance = Described(
        default_factory=QuarantineBalance, description="what became of the quarantined ones"
    )


def coverage(
    spec: Pipeline,
    paths: Paths,
    earliest: Positions | None = None,
    bound: Span | None = None,
    most_read: int = MOST_READ,
) -> Coverage:
    """Of all that was drained, or of `bound`. `earliest` are the first offsets that Kafka still
    has; without them nothing is called unreachable. So many quarantined records are decoded: the
    balance says how many more there are.

    Raises RangeUnsupported; RangeOpen before the first batch; CheckpointForeign; CheckpointBroken.
    """
    way = mended(spec)
    identity, audited = read_identity(paths), read_cursor(paths.cursor).audited
    if identity is None or audited < 0:
        refuse_foreign(spec, paths, identity.generation if identity else None)
        raise RangeOpen.nothing_accounted(pipeline=spec.name)
    generations = identity.generations
    late = LateSpans(way, paths, generations, audited)
    checkpoint = Checkpoint(paths.checkpoint)
    outdated = Outdated(way, paths, generations, audited, noted_now(checkpoint, spec))
    newest = checkpoint.batch(audited)
    until = way.closed_until(newest.watermark)
    good, quarantined = _quarantined(way, paths, generations, audited, until, most_read)
    length = LENGTHS[spec.ranges.every]
    final = [each for each in good if until is not None and each.end <= until]
    # A good record may be far in the future: it waits, and stretches nothing.
    extent = late.extent()
    known = [extent, *final] if extent else final
    buckets, left_out = _buckets(way, times(paths, generations), known, length, bound)
    shown = Span(buckets[0].start, buckets[-1].end) if buckets else None
    touching = late.intervals(shown, length, until) if shown and extent else []
    late_waits = _count(touching, length)
    waits = late_waits + _count((Touching(span, 1) for span in good), length)
    changed = outdated.intervals(shown, length) if shown else Counter[datetime]()
    # A repair takes a record only when all rows that it touches are final.
    ripe = _count((each for each in touching if each.final), length)
    ripe += _count((Touching(span, 1) for span in final), length)
    asked = Reach.of(way, paths, identity, earliest, newest.end) if earliest else None
    waiting_for = [span for span in buckets if waits[span.start] or changed[span.start]]
    lost = {*asked.touched(buckets), *asked.lacking(waiting_for)} if asked else set()
    ended, staged = repairs_of(paths, generations)
    return Coverage(
        pipeline=spec.name,
        batch=audited,
        until=until,
        intervals=tuple(
            _interval(
                span,
                until is None or span.end > until or ripe[span.start] < bool(waits[span.start]),
                (
                    late_waits[span.start],
                    changed[span.start],
                    waits[span.start] - late_waits[span.start],
                ),
                span in lost,
                ended,
                staged,
            )
            for span in buckets
        ),
        left_out=left_out,
        gone=asked.gone if asked else (),
        balance=balance(
            count(paths, "late", generations, audited), *late_fates(paths, generations, audited)
        ),
        quarantine=quarantined,
    )


def _interval(
    span: Span,
    opened: bool,
    waits: tuple[int, int, int],
    lost: bool,
    ended: Sequence[Done],
    staged: Sequence[Done],
) -> Interval:
    last = newest_of(ended, span)
    wait = newest_of(staged, span)
    late, outdated, replayable = waits
    named: tuple[State, ...] = ("late", "outdated", "replayable")
    state = next((of for of, number in zip(named, waits, strict=True) if number), "canonical")
    if opened:
        state = "open"
    elif lost:
        state = "unreachable"
    elif wait and (last is None or wait.at > last.at):
        state = "staged"
    row = last.row if last else {}
    return Interval(
        start=span.start,
        end=span.end,
        state=state,
        late=late,
        outdated=outdated,
        replayable=replayable,
        repair_id=row.get("repair_id"),
        kind="undo" if str(row.get("repair_id", "")).endswith(UNDO) else row.get("kind"),
        at=last.at if last else None,
        who=json.loads(row.get("request") or "{}").get("who"),
    )


def _quarantined(
    way: Ranged,
    paths: Paths,
    generations: Sequence[str],
    batch: int,
    until: datetime | None,
    most: int,
) -> tuple[list[Span], QuarantineBalance]:
    touched, bad = list[Span](), 0
    for each in islice(waiting(way.spec, paths, generations, batch), most):
        if isinstance(each, str):
            bad += 1
        else:
            touched.append(way.touched(each.event_time, partition=each.partition))
    ripe = sum(until is not None and each.end <= until for each in touched)
    total = count(paths, "quarantine", generations, batch)
    # `sluice maintain` may have removed the records of others, which are in no line then.
    settled = fates(paths, "quarantine", generations, batch)
    unread = total - settled.total() - bad - len(touched) if bad + len(touched) == most else 0
    good = ripe, len(touched) - ripe
    return touched, quarantine_balance(total, settled, good, bad, unread)


def _buckets(
    way: Ranged, times: Span | None, touched: Sequence[Span], length: timedelta, bound: Span | None
) -> tuple[list[Span], int]:
    # A record of the year 1 hides no day after it.
    most = (max(times.start, FIRST), min(times.end, LAST - MICROSECOND)) if times else ()
    ends = [way.touched(each) for each in most]
    spans = [span for span in (*ends, *touched) if not span.empty]
    if not spans:
        return [], 0
    whole = Span(min(span.start for span in spans), max(span.end for span in spans))
    if bound is not None:
        whole = whole.within(bound)
    if whole.empty:
        return [], 0
    first = floor(whole.start, length)
    number = -((first - whole.end) // length)
    left_out = max(0, number - MOST)
    return [
        Span(first + n * length, first + (n + 1) * length) for n in range(left_out, number)
    ], left_out


def _count(touching: Iterable[Touching], length: timedelta) -> Counter[datetime]:
    """Interval -> how many records touch it."""
    found = Counter[datetime]()
    for each in touching:
        at = floor(each.span.start, length)
        while at < each.span.end:
            found[at] += each.records
            at += length
    return found
