"""Covered: the coverage of a table with the days that are proved, until when retention leaves the
records that a verify of a day needs, and what readers of the published table are told of it.

A proof holds until a commit changes a row of its day, by the table's log and not by the clock. What
only rearranges files changes no row; what a commit rewrote is compared row by row.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import ChangeUnexplained, CheckFailed, StagingStale, VersionNotLive
from spark_jobs.messages.kind import PROVING_KINDS
from spark_jobs.messages.report import parse_report
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.exchange.commit import Base
from spark_jobs.repair.find.coverage import MOST_READ, Coverage, Interval, coverage
from spark_jobs.repair.find.plan import digest
from spark_jobs.repair.offsets.archived import kept_until
from spark_jobs.repair.offsets.reach import Reach
from spark_jobs.repair.offsets.slices import less
from spark_jobs.source.port import Leaving
from spark_jobs.spec.analysis.ranged import Ranged, ranged
from spark_jobs.table.published.commit import Proved, ProvedSpan
from spark_jobs.table.published.proved import show_proved
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import Span, floor, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.ops.schema import Row
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Position

REFUTING = frozenset({ChangeUnexplained.code, CheckFailed.code})
"""Problems of a verify that has found other rows. Any other one says nothing of the rows."""
DAY: Final = timedelta(days=1)
DAYS_AHEAD: Final = 30
MOST: Final = 100
"""Spans that readers are told of: every commit of the published table has them. The newest are."""


class Held(NamedTuple):
    """What the source has, today and on the coming days."""

    earliest: Positions
    """At its first records today."""
    times: tuple[datetime, ...]
    """Now, and the coming midnights."""
    leaving: Leaving

    @classmethod
    def by(cls, source: Source, earliest: Positions, now: datetime) -> Held:
        """Raises what the source refuses."""
        times = (now, *(floor(now, DAY) + (n + 1) * DAY for n in range(DAYS_AHEAD)))
        return cls(earliest, times, source.leaving(earliest.partitions, times))


def provable(
    reach: Reach, paths: Paths, known: Identity, held: Held, days: Sequence[Span]
) -> tuple[dict[Span, datetime], set[Span]]:
    """Of days whose records are all there today those of which retention may take records soon,
    and until when it certainly does not; and those of which nobody can tell it. The question is the
    one for today: whose records does nobody have? It is asked with the offsets that the source and
    the archive will certainly still have on each of the coming days.
    """
    (has, earliest), leaving = reach.places, held.leaving
    gone = kept_until(paths.root, reach.way.spec.inputs, known.topic_id, held.times)

    def lacking(archived: Parts, first: Positions, of: Sequence[Span]) -> tuple[Span, ...]:
        return reach._replace(places=(archived, earliest.maximum(first))).lacking(of)

    untold = {*lacking(has, leaving.of_nobody, days)} if leaving.of_nobody else set[Span]()
    until = dict[Span, datetime]()
    rest = [day for day in days if day not in untold]
    rest = [*lacking(less(has, gone[-1]), leaving.first[-1], rest)]
    for number, first in enumerate(leaving.first):
        then = lacking(less(has, gone[number]), first, rest)
        until |= dict.fromkeys(then, held.times[max(number - 1, 0)])
        rest = [day for day in rest if day not in until]
    return until, untold


def covered(
    spec: Pipeline,
    paths: Paths,
    held: Held | None = None,
    bound: Span | None = None,
    most_read: int = MOST_READ,
) -> Coverage:
    """As `coverage`. Where something waits for a repair nothing is proved: the rows lack it. With
    what the source has it tells until when days can be proved.
    """
    by_key = spec.keyed is not None  # keys are proved, no days
    earliest = held.earliest if held and not by_key else None
    found, known = coverage(spec, paths, earliest, bound, most_read), read_identity(paths)
    if known is None or by_key:
        return found
    way = ranged(spec)
    days = [each.span for each in found.intervals if each.state == "canonical"]
    proofs = standing(paths, known, way.position, digest(spec), days) if days else {}
    until, untold = dict[Span, datetime](), set[Span]()
    whole = [each.span for each in found.intervals if each.state not in ("open", "unreachable")]
    if whole and held:
        horizon = Checkpoint(paths.checkpoint).batch(found.batch).end
        reach = Reach.of(way, paths, known, held.earliest, horizon)
        until, untold = provable(reach, paths, known, held, whole)

    def told(each: Interval) -> Interval:
        proof = proofs.get(each.span)
        passed = {("proved_at" if proof.passed else "refuted_at"): proof.at} if proof else {}
        soon = {"provable_until": until.get(each.span), "untold": each.span in untold}
        return each.model_copy(update=passed | soon)

    intervals, why = tuple(map(told, found.intervals)), held.leaving.untold if held else ""
    return found.model_copy(update={"intervals": intervals, "untold": why})


def published_until(way: Ranged, paths: Paths) -> datetime | None:
    """Consumers have been told of all rows before this position; None if of none."""
    event = read_published(paths).event
    return way.closed_until(event.watermark) if event else None


def tell_proved(spec: Pipeline, paths: Paths) -> bool:
    """Say which published days are proved. False if that is said already, or nothing is published.
    Raises what coverage raises.
    """
    way, seen = ranged(spec), table_of(paths).version()
    if (until := published_until(way, paths)) is None:
        return False
    spans = _spans(each for each in covered(spec, paths).intervals if each.end <= until)
    said = Proved(column=way.position.column, spans=tuple(spans[-MOST:]))
    try:
        return show_proved(paths, said, seen, refuse_dead)
    except VersionNotLive:  # a reset or a switch came: another table is shown
        return False


def _spans(days: Iterable[Interval]) -> list[ProvedSpan]:
    """Neighbours that were proved on one day together."""
    found = list[ProvedSpan]()
    for each in days:
        if each.proved_at is None:
            continue
        on = each.proved_at.date()
        if found and (found[-1].end, found[-1].on) == (each.start, on):
            found[-1] = found[-1]._replace(end=each.end)
        else:
            found.append(ProvedSpan(each.start, each.end, on))
    return found


class Proof(NamedTuple):
    """What a verify has said of some ranges."""

    at: datetime
    passed: bool
    version: int
    """Of the table that was compared."""
    spans: tuple[Span, ...]

    @classmethod
    def of(cls, row: Row) -> Proof | None:
        """None where a person left records out, and where it could not be told."""
        if "without" in json.loads(row["request"] or "{}"):
            return None
        if not (passed := row["state"] == "canonical"):
            problem = parse_report(row["report"], f"the report of {row['repair_id']}").problem
            if problem is None or problem.code not in REFUTING:
                return None
        spans = tuple(Span(each["start"], each["end"]) for each in row["ranges"] or ())
        return cls(row["staged_at"], passed, row["table_version_before"], spans)


def standing(
    paths: Paths, known: Identity, position: Position, spec_digest: str, days: Sequence[Span]
) -> dict[Span, Proof]:
    """Day -> the newest verify that says something of it, if that still holds: the day is right or
    wrong then. One with another digest says nothing of what today's spec gives. One that found a
    part of the day wrong counts; one that found a part of it right does not.
    """
    where = (
        f"{ops_tables.among('generation', known.generations)} "
        f"AND {ops_tables.among('kind', PROVING_KINDS)} AND state IN ('canonical', 'failed') "
        f"AND table_version_before IS NOT NULL AND spec_digest = '{spec_digest}'"
    )
    stored = filter(None, map(Proof.of, repairs.stored(paths.root, paths.pipeline, where)))
    found, ordered = dict[Span, Proof](), sorted(days)
    ends = [day.end for day in ordered]
    # By the version, as a clock may be set back.
    for proof in sorted(stored, key=lambda each: (each.version, each.at)):
        for span in proof.spans:
            for day in ordered[bisect_right(ends, span.start) :]:
                if day.start >= span.end:
                    break
                if not proof.passed or (span.start <= day.start and day.end <= span.end):
                    found[day] = proof
    if not found or table_of(paths).identifier() != known.table_id:
        return {}
    return {day: found[day] for day in _holding(paths, position, found)}


def _holding(paths: Paths, position: Position, proofs: dict[Span, Proof]) -> set[Span]:
    """The days that no commit has changed since their proof, as far as the log still tells."""
    table = table_of(paths)
    told = table.changes(min(each.version for each in proofs.values()))
    newest = table.version()
    holds, asked = set[Span](), defaultdict[int, list[Span]](list)
    for day, proof in proofs.items():
        if told is None or not told.since <= proof.version <= newest:
            continue
        since = (each for each in told.commits if each.version > proof.version)
        touching = [each for each in since if each.touches(position.column, (day,))]
        if not touching:
            holds.add(day)
        elif not any(each.restores for each in touching):
            asked[proof.version].append(day)
    for version, days in asked.items():
        holds.update(_same(Base(table, version, position, ()), sorted(days)))
    return holds


def _same(base: Base, days: Sequence[Span]) -> Iterator[Span]:
    """The days with the rows of the base's version. Usually all have: one question then."""
    try:
        base._replace(spans=joined(days, len(days))).compared()
    except StagingStale:
        if len(days) > 1:
            middle = len(days) // 2
            yield from _same(base, days[:middle])
            yield from _same(base, days[middle:])
        return
    yield from days
