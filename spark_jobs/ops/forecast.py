"""Forecast: when the state reaches its budget if it goes on as in its last runs, and from what that
is known: a trend, or swings. A range, or the reason why there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from spark_jobs.ops import history
from spark_jobs.ops.json_of_tables import BatchLine

if TYPE_CHECKING:
    from upath import UPath

DEVIATIONS: Final = 1.645
"""Of a normal distribution: nine of ten. Points of one pipeline are not independent, so that the
range is no promise of nine in ten.
"""


class Point(NamedTuple):
    """The state after a run."""

    at: float
    """Seconds since 1970."""
    value: float


class Trend(NamedTuple):
    """A line, in units of the values a second."""

    slope: float
    low: float
    high: float
    level: float
    """The line's value at the last point."""


def trend(points: Sequence[Point]) -> Trend | None:
    """Of points by time; None if all have one time."""
    slopes = sorted(
        (later.value - each.value) / (later.at - each.at)
        for place, each in enumerate(points)
        for later in points[place + 1 :]
        if later.at > each.at
    )
    if not slopes:
        return None
    slope, last = median(slopes), points[-1].at
    level = median(each.value - slope * (each.at - last) for each in points)
    low, high = _range(slopes, len(points))
    return Trend(slope, low, high, level)


def _range(slopes: Sequence[float], points: int) -> tuple[float, float]:
    spread = DEVIATIONS * math.sqrt(points * (points - 1) * (2 * points + 5) / 18)
    outside = max(0, math.floor((len(slopes) - spread) / 2))
    outside = min(outside, (len(slopes) - 1) // 2)
    return slopes[outside], slopes[-1 - outside]


SHARE: Final = 0.25
"""Of the range of all values: a smaller fall is none. A share, so that the unit does not count."""


class Basis(NamedTuple):
    """The points to compare, oldest first."""

    kind: Literal["runs", "tops", "rise"]
    """all runs; the tops of whole swings; the runs since it fell last, if it has risen for longer
    than all before, or far above it
    """
    points: Sequence[Point]


def basis(points: Sequence[Point]) -> Basis:
    """Of points by time."""
    least = SHARE * (max(each.value for each in points) - min(each.value for each in points))
    found = _swings(points, least)
    if not found.tops:
        return Basis("runs", points)
    longer = len(points) - found.bottom > found.bottom
    above = points[-1].value > max(each.value for each in found.tops) + least
    if found.rising and (longer or above):
        return Basis("rise", points[found.bottom :])
    return Basis("tops", found.tops)


class _Swings(NamedTuple):
    tops: list[Point]
    """To which it rose, and from which it fell."""
    bottom: int
    """The place of the point from which it rose last."""
    rising: bool


def _swings(points: Sequence[Point], least: float) -> _Swings:
    tops, high, low, bottom = list[Point](), 0, 0, 0
    rising: bool | None = None
    for place, each in enumerate(points):
        if each.value > points[high].value:
            high = place
        if each.value < points[low].value:
            low = place
        if not rising and each.value > points[low].value + least:
            rising, bottom, high = True, low, place
        elif rising is not False and each.value < points[high].value - least:
            if rising:
                tops.append(points[high])
            rising, low = False, place
    return _Swings(tops, bottom, bool(rising))


LEAST: Final = 5
"""Runs, or whole swings, from which a trend is told."""
MOST: Final = 120
"""The newest runs that count: of older ones the data may have been other data."""
FLAT: Final = 0.05
"""A change over all points that is less than this share of the state is none."""
FAR: Final = timedelta(days=3653).total_seconds()
"""Ten years. What is farther is not told as a date."""
Verdict = Literal["grows", "unclear", "flat", "falls", "few", "reached"]
"""unclear: perhaps it grows, perhaps not. few: too few runs or whole swings."""


class Forecast(NamedTuple):
    """What the last runs say of a budget. Times are seconds since 1970, slopes units a second."""

    verdict: Verdict
    of: Literal["runs", "tops", "rise"] = "runs"
    """What was compared (swings.Basis)."""
    points: int = 0
    seconds: float = 0
    """From the first of them to the last."""
    slope: float = 0
    soonest: float | None = None
    """None: not within ten years, or never."""
    latest: float | None = None
    """None likewise."""


def forecast(points: Sequence[Point], budget: float | None) -> Forecast:
    """Of the state after runs of one generation, by time. Without a budget it has no times."""
    recent = points[-MOST:]
    if budget is not None and recent and recent[-1].value >= budget:
        return Forecast("reached", points=len(recent))
    if len(recent) < LEAST:
        return Forecast("few", points=len(recent))
    of, compared = basis(recent)
    seconds = compared[-1].at - compared[0].at
    whole = trend(compared) if len(compared) >= LEAST else None
    if whole is None:
        return Forecast("few", of, len(compared), seconds)
    # A state that has stopped growing, or has begun to, is told by its later half alone.
    later = trend(compared[len(compared) // 2 :]) if len(compared) >= 2 * LEAST else None
    line = _both(whole, later or whole)
    level = max(line.level + line.slope * (recent[-1].at - compared[-1].at), recent[-1].value)
    found = Forecast(_verdict(line, seconds, level), of, len(compared), seconds, line.slope)
    if budget is None or found.verdict in {"flat", "falls"}:
        return found
    room, now = max(0.0, budget - level), recent[-1].at
    return found._replace(soonest=_when(now, room, line.high), latest=_when(now, room, line.low))


def _both(whole: Trend, later: Trend) -> Trend:
    return whole._replace(low=min(whole.low, later.low), high=max(whole.high, later.high))


def _verdict(line: Trend, seconds: float, level: float) -> Verdict:
    if line.low > 0:
        return "grows"
    if line.high < 0:
        return "falls"
    change = seconds * max(abs(line.low), abs(line.high))
    return "flat" if change <= FLAT * level else "unclear"


def _when(now: float, room: float, slope: float) -> float | None:
    # By comparison first: a slope may be so small that the quotient is no number.
    return now + room / slope if slope > 0 and room <= FAR * slope else None


BATCHES: Final = 2_000
"""The newest batches that are read."""
RUNS: Final = 400
"""The newest runs that are told of them: each is a row of a page's tables."""


def after_runs(root: UPath, pipeline: str) -> list[BatchLine]:
    """The last batch of each run, oldest first. Of the newest BATCHES batches, at most RUNS."""
    newest = history.batches(root, pipeline, BATCHES, 0).batches
    last: dict[str | int, BatchLine] = {}
    for batch in newest:
        last.setdefault(batch.run_id or batch.batch, batch)
    return [*islice(last.values(), RUNS)][::-1]


def points(after: Sequence[BatchLine], of: Callable[[BatchLine], int | None]) -> list[Point]:
    """What it counts after each run. Runs where it is not known are left out."""
    return [
        Point(batch.audited_at.timestamp(), float(value))
        for batch in after
        if batch.audited_at is not None and (value := of(batch)) is not None
    ]
