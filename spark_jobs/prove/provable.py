"""Provable: until when retention leaves the records that a verify of a day needs.

The question is the one for today: whose records does nobody have? It is asked with the offsets that
Kafka and the archive will certainly still have on each of the coming days.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.repair.offsets.archived import kept_until
from spark_jobs.repair.offsets.slices import less
from spark_jobs.source.port import Leaving
from spark_jobs.values.spans import Span, floor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.repair.offsets.reach import Reach
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.storage.root.paths import Paths

DAY: Final = timedelta(days=1)
DAYS_AHEAD: Final = 30


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
    """Of days whose records are all there today."""
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
