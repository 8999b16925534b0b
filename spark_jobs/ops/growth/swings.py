"""Swings: of a state that rises and falls, the points that can be compared.

A watermark that moves in steps makes a saw of the state, and so do days and nights. A line through
all points of a saw depends on where in a tooth it begins and ends. The tops of whole teeth do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from spark_jobs.ops.growth.trend import Point

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
