"""Trend: a straight line through points that outliers do not turn: the median of the slopes of all
pairs (Theil and Sen), and the range of slopes that Kendall's rank test does not exclude (Sen 1968).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

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
