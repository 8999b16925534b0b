"""Disorder: how far behind the newest event time the records of a sample are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.spec.analysis.late_rule import FIRST, NICE, of_rows
from spark_jobs.spec.duration import approximate, interval, parse_duration
from spark_jobs.values.spans import MICROSECOND

if TYPE_CHECKING:
    from spark_jobs.spec.analysis.late_rule import Timely


class Disorder(NamedTuple):
    """Of records in the order of their arrival, as if each came in a batch of its own."""

    times: tuple[int, ...]
    """Event times, in microseconds since 1970."""
    newest: tuple[int, ...]
    """The newest event time before each."""

    @property
    def behind(self) -> list[timedelta]:
        """Of each record how far it is behind; sorted."""
        both = zip(self.times, self.newest, strict=True)
        return sorted(max(0, newest - time) * MICROSECOND for time, newest in both)

    def late(self, delay: timedelta, rule: Timely | None = None) -> int:
        """Records that would be late; without a rule each at or before the watermark."""
        known = rule or of_rows(delay)
        both = zip(self.times, self.newest, strict=True)
        return sum(newest > FIRST and time < known(newest) for time, newest in both)

    def __str__(self) -> str:
        behind = self.behind or [timedelta()]
        last = len(behind) - 1
        places = (min(last, math.ceil(part * len(behind)) - 1) for part in (0.5, 0.99, 1))
        half, most, all_ = (approximate(behind[place]) for place in places)
        return f"half of the records by {half}, 99 % by {most}, all by {all_} at most"

    @property
    def delay(self) -> str:
        """The smallest of NICE with which at most one record of a thousand is late."""
        few = len(self.times) // 1000
        return next((n for n in NICE if self.late(parse_duration(n)) <= few), NICE[-1])


def disorder(times_ms: Iterable[float]) -> Disorder:
    """Of event times in milliseconds since 1970, in the order of their arrival."""
    times = tuple(int(each * 1000) for each in times_ms)
    newest, found = FIRST, list[int]()
    for each in times:
        found.append(newest)
        newest = max(newest, each)
    return Disorder(times, tuple(found))


def around(delay: timedelta, most: int = 9) -> list[timedelta]:
    """The delay, and the nearest of NICE and a minute on both sides of it, ascending.

    >>> [interval(each) for each in around(timedelta(hours=3), most=5)]
    ['1 hour', '2 hours', '3 hours', '4 hours', '8 hours']
    """
    known = sorted({delay, *map(parse_duration, ("1 minute", *NICE))})
    first = min(max(0, known.index(delay) - most // 2), max(0, len(known) - most))
    return known[first : first + most]


def in_words(found: Disorder, delays: Sequence[timedelta]) -> str:
    """The late records by each delay."""
    return ", ".join(f"{found.late(each):,} with {interval(each)}" for each in delays)
