"""Provable: until when retention leaves the records that a verify of a day needs.

The question is the one for today: whose records does nobody have? It is asked with the offsets that
Kafka and the archive will certainly still have on each of the coming days.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.repair.offsets.archived import kept_until
from spark_jobs.repair.offsets.slices import without
from spark_jobs.source.port import NONE_STAYS, Leaving
from spark_jobs.values.spans import Span, floor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.repair.offsets.reach import Reach
    from spark_jobs.source.micro_batch import Offsets, Parts
    from spark_jobs.source.port import Source
    from spark_jobs.storage.root.paths import Paths

DAY: Final = timedelta(days=1)
DAYS_AHEAD: Final = 30


class Held(NamedTuple):
    """What the source has, today and on the coming days."""

    earliest: Offsets
    """Partition -> its first offset today."""
    times: tuple[datetime, ...]
    """Now, and the coming midnights."""
    leaving: Leaving

    @classmethod
    def by(cls, source: Source, earliest: Offsets, now: datetime) -> Held:
        """Raises what the source refuses."""
        midnights = (floor(now, DAY) + number * DAY for number in range(1, DAYS_AHEAD + 1))
        times = (now, *midnights)
        return cls(earliest, times, source.leaving([*earliest], times))


class Provable(NamedTuple):
    """What is known of some days."""

    until: dict[Span, datetime]
    """The days of which retention may take records soon, and until when it certainly does not."""
    untold: frozenset[Span]
    """The days of which nobody can tell it."""


def provable(
    reach: Reach, paths: Paths, known: Identity, held: Held, days: Sequence[Span]
) -> Provable:
    """Of days whose records are all there today."""
    inputs, (has, earliest) = reach.way.spec.inputs, reach.places
    gone = kept_until(paths.root, inputs, known.topic_id, held.times)

    def lacking(archived: Parts, first: Offsets, of: Sequence[Span]) -> tuple[Span, ...]:
        later = earliest | {p: max(at, earliest.get(p, 0)) for p, at in first.items()}
        return reach._replace(places=(archived, later)).lacking(of)

    def lacking_at(number: int, of: Sequence[Span]) -> tuple[Span, ...]:
        first = {p: at for p, at in held.leaving.first[number].items() if at != NONE_STAYS}
        return lacking(_less(has, gone[number]), first, of)

    nobody = {p: at for p, at in held.leaving.first[0].items() if at == NONE_STAYS}
    untold = frozenset(lacking(has, nobody, days) if nobody else ())
    until = dict[Span, datetime]()
    rest = lacking_at(-1, [day for day in days if day not in untold])
    for number in range(len(held.times)):
        then = frozenset(lacking_at(number, rest)) if rest else frozenset[Span]()
        until |= dict.fromkeys(then, held.times[max(number - 1, 0)])
        rest = tuple(day for day in rest if day not in then)
    return Provable(until, untold)


def _less(has: Parts, gone: Parts) -> Parts:
    return {p: tuple(without(ranges, gone.get(p, ()))) for p, ranges in has.items()}
