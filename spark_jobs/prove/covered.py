"""Covered: the coverage of a table with the days that are proved, until when retention leaves the
records that a verify of a day needs, and what readers of the published table are told of it.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import VersionNotLive
from spark_jobs.prove.proof import UNKNOWN, Standing, standings
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
from spark_jobs.values.spans import Span, floor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

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
        midnights = (floor(now, DAY) + number * DAY for number in range(1, DAYS_AHEAD + 1))
        times = (now, *midnights)
        return cls(earliest, times, source.leaving(earliest.partitions, times))


class Provable(NamedTuple):
    """What is known of some days."""

    until: dict[Span, datetime]
    """The days of which retention may take records soon, and until when it certainly does not."""
    untold: frozenset[Span]
    """The days of which nobody can tell it."""


def provable(
    reach: Reach, paths: Paths, known: Identity, held: Held, days: Sequence[Span]
) -> Provable:
    """Of days whose records are all there today. The question is the one for today: whose records
    does nobody have? It is asked with the offsets that the source and the archive will certainly
    still have on each of the coming days.
    """
    (has, earliest), leaving = reach.places, held.leaving
    gone = kept_until(paths.root, reach.way.spec.inputs, known.topic_id, held.times)

    def lacking(archived: Parts, first: Positions, of: Sequence[Span]) -> tuple[Span, ...]:
        return reach._replace(places=(archived, earliest.maximum(first))).lacking(of)

    untold = frozenset(lacking(has, leaving.of_nobody, days) if leaving.of_nobody else ())
    until = dict[Span, datetime]()
    rest = [day for day in days if day not in untold]
    rest = [*lacking(less(has, gone[-1]), leaving.first[-1], rest)]
    for number, first in enumerate(leaving.first):
        then = lacking(less(has, gone[number]), first, rest)
        until |= dict.fromkeys(then, held.times[max(number - 1, 0)])
        rest = [day for day in rest if day not in until]
    return Provable(until, untold)


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
    days = [each.span for each in found.intervals if each.state == "canonical"]
    told = standings(paths, known, ranged(spec).position, digest(spec), days) if days else {}
    until = Provable({}, frozenset())
    whole = [each.span for each in found.intervals if each.state not in ("open", "unreachable")]
    if whole and held:
        horizon = Checkpoint(paths.checkpoint).batch(found.batch).end
        reach = Reach.of(ranged(spec), paths, known, held.earliest, horizon)
        until = provable(reach, paths, known, held, whole)
    return found.model_copy(
        update={
            "intervals": tuple(_told(each, told, until) for each in found.intervals),
            "untold": held.leaving.untold if held else "",
        }
    )


def _told(each: Interval, told: Mapping[Span, Standing], until: Provable) -> Interval:
    span = each.span
    standing = told.get(span, UNKNOWN)
    known = {
        "proved_at": standing.proved and standing.proved.at,
        "refuted_at": standing.refuted and standing.refuted.at,
        "provable_until": until.until.get(span),
        "untold": span in until.untold,
    }
    return each.model_copy(update=known) if any(known.values()) else each


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
    with suppress(VersionNotLive):  # a reset or a switch came: another table is shown
        return show_proved(paths, said, seen, refuse_dead)
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
