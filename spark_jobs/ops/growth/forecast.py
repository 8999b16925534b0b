"""Forecast: when the state reaches its budget if it goes on as in its last runs, and from what that
is known. A range, or the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Literal, NamedTuple

from spark_jobs.ops.growth.swings import basis
from spark_jobs.ops.growth.trend import Point, Trend, trend

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
