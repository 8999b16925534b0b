"""Bars: the geometry of the charts, in units of their SVG. The table below each has the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 900, 160
Unit = Callable[[float], str]
"""A value -> as text, with its unit."""
LEAST = 1.5
"""The height of a part that would be lower: one record of a million is seen too."""
LEAST_OF_SMALL = 8
"""The same in the cell of a table, which is a sixth as high."""


class Bar(NamedTuple):
    """One rectangle. `kind` is its class in the style sheet, `run_id` the run it leads to."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str
    run_id: str


class Chart(NamedTuple):
    """Bars, what the highest stands for, and a bound as a line, which may be above them all."""

    bars: list[Bar]
    most: str = ""
    """The highest value, with its unit."""
    limit: float | None = None
    """The height of the bound, from above; None without one."""
    bound: str = ""
    """The bound, with its unit."""


class Point(NamedTuple):
    """One bar of a chart with one value each."""

    run_id: str
    label: str
    value: float
    text: str
    """The value, with its unit."""


def chart(
    points: Sequence[Point],
    bound: float | None,
    told: str,
    unit: Unit,
    least: float = LEAST,
) -> Chart:
    """A bar a point, left to right, each at least so high unless it is 0. The bound is in the chart
    too, if it is given.
    """
    highest = max((each.value for each in points), default=0)
    most = max(highest, bound or 0)
    if not points or most <= 0:
        return Chart([])
    bars = []
    for place, each in enumerate(points):
        x, width = _column(place, len(points))
        height = round(max(HEIGHT * each.value / most, least), 2) if each.value > 0 else 0.0
        over = bound is not None and each.value > bound
        title = f"{each.label}: {each.text}"
        if height:
            kind = "over" if over else "part0"
            bars.append(Bar(x, round(HEIGHT - height, 2), width, height, kind, title, each.run_id))
    limit = None if bound is None else round(HEIGHT - HEIGHT * bound / most, 2)
    return Chart(bars, unit(highest), limit, told)


def stacked(
    stacks: Sequence[tuple[str, str, dict[str, int] | dict[str, float]]],
    *,
    by_place: bool = False,
    unit: str = " ",
) -> list[Bar]:
    """`by_place`: the style's class is the part's place in the stack, and not its name."""
    most = max((sum(parts.values()) for _, _, parts in stacks), default=0)
    if not most:
        return []
    bars = []
    for place, (run_id, label, parts) in enumerate(stacks):
        top = float(HEIGHT)
        x, width = _column(place, len(stacks))
        for part, (name, count) in enumerate(parts.items()):
            height = HEIGHT * count / most
            if count:
                height = max(height, LEAST)
            top -= height
            kind = f"part{part % 6}" if by_place else name
            title = f"{label}: {count:,}{unit}{name}"
            if count:
                bars.append(Bar(x, round(top, 2), width, round(height, 2), kind, title, run_id))
    return bars


def _column(place: int, of: int) -> tuple[float, float]:
    """The left edge and the width of a column."""
    step = WIDTH / of
    return round(place * step, 2), round(max(step - 1, 0.5), 2)
