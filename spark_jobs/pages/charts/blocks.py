"""Blocks: a chart as lines of text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from spark_jobs.errors.visible import visible
from spark_jobs.pages.amounts import Unit, amount
from spark_jobs.values.times import at_seconds

if TYPE_CHECKING:
    from spark_jobs.pages.charts.chart import Chart

CELLS: Final = 60
"""The longest line of blocks. Of more points, each block is the largest of its neighbours."""
HEIGHTS: Final = "▂▃▄▅▆▇█"
NOTHING, GAP = "▁", " "


def lines(chart: Chart) -> Iterator[str]:
    """Its question and times, and a line a series; what has only zeros is left out."""
    if not chart.x:
        yield f"{chart.title}  nothing yet"
        return
    ends = (at_seconds(at) for at in (chart.x[0], chart.x[-1]))
    first, last = (f"{at:%F %H:%M}" for at in ends)
    yield f"{chart.title}  {first} to {last} UTC, {len(chart.x):,} points"
    shown = [each for each in chart.series if any(each.values)]
    wide = max((len(visible(each.label)) for each in shown), default=0)
    for each in shown:
        yield f"  {visible(each.label):<{wide}}  {line(each.values, chart.unit)}"
    for bound in chart.bounds:
        yield f"  {visible(bound.label)}: {amount(bound.value, chart.unit)}"


def line(values: Sequence[float | None], unit: Unit) -> str:
    """The values as blocks, oldest left, with the least, the most and the last of them.

    >>> line([0, None, 4, 8], "rows")
    '▁ ▅█  least 0, most 8, last 8 rows'
    """
    known = [value for value in values if value is not None]
    if not known:
        return "not known"
    of = unit if unit in {"records", "rows"} else ""
    told = (f"{name} {amount(value, unit)}" for name, value in
            (("least", min(known)), ("most", max(known)), ("last", known[-1])))  # fmt: skip
    return f"{blocks(values)}  {', '.join(told)} {of}".rstrip()


def blocks(values: Sequence[float | None]) -> str:
    """A block a point, at most CELLS; as high as its value is of the largest.

    >>> blocks([1, 1_000_000, 0, None])
    '▂█▁ '
    """
    cells = min(CELLS, len(values))
    ends = [len(values) * cell // cells for cell in range(cells + 1)]
    parts = [
        [value for value in values[start:end] if value is not None] for start, end in pairwise(ends)
    ]
    most = max((max(part) for part in parts if part), default=0)
    return "".join(_block(max(part), most) if part else GAP for part in parts)


def _block(value: float, most: float) -> str:
    if value <= 0:
        return NOTHING
    return HEIGHTS[min(len(HEIGHTS) - 1, int(len(HEIGHTS) * value / most))]
