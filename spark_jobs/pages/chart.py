"""Chart: series over time, as a page, a report and a terminal draw them; and amounts as text, with
their units.

It is plain data. html/chart.html writes each as a figure with its table, and charts.js draws it by
uPlot. A terminal gets it as blocks, in lines of text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from spark_jobs.errors.base import visible
from spark_jobs.spec.duration import approximate
from spark_jobs.values.times import at_seconds

Unit = Literal["records", "rows", "bytes", "seconds", "share", "number"]
"""Of the values of a chart."""
LASTING = {"d": 86_400, "h": 3_600, "min": 60}


def number(value: float) -> str:
    """A number of unknown kind, without digits that say nothing.

    >>> number(0.05), number(2**30), number(3.0), number(1234.5678)
    ('0.05', '1,073,741,824', '3', '1,234.57')
    """
    return f"{int(value):,}" if value == int(value) else f"{value:,.6g}"


def in_bytes(value: float) -> str:
    """A size with its unit.

    >>> in_bytes(500), in_bytes(1_500_000), in_bytes(2**30)
    ('500 B', '1.4 MiB', '1.0 GiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:  # noqa: PLR2004 - of binary units
            return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} GiB"


def lag(seconds: float) -> str:
    return approximate(timedelta(seconds=seconds)) if seconds >= 1 else "under a second"


def lasting(seconds: float) -> str:
    """A time by its two largest units.

    >>> lasting(7.25), lasting(10_234), lasting(3 * 86_400 + 61), lasting(120)
    ('7.2 s', '2 h 50 min', '3 d', '2 min')
    """
    for place, (unit, size) in enumerate(LASTING.items()):
        if seconds >= size:
            below, least = [*LASTING.items(), ("s", 1)][place + 1]
            rest = int(seconds % size // least)
            return f"{int(seconds // size):,} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{seconds:,.1f} s"


def share(value: float) -> str:
    return f"{100 * value:,.2f} %"


def amount(value: float | None, unit: Unit) -> str:
    """Of a chart; empty where there is none.

    >>> amount(1234, "records"), amount(2**20, "bytes"), amount(None, "share")
    ('1,234', '1.0 MiB', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    told = {"bytes": in_bytes, "seconds": lasting, "share": share}
    return told.get(unit, number)(value)


Form = Literal["stacked", "bars", "line"]
MOST = 200
"""Characters of a name of others."""


class Series(NamedTuple):
    """One value a point. `kind` is a colour's class in the style sheet."""

    label: str
    values: Sequence[float | None]
    """None is a gap."""
    kind: str


class Bound(NamedTuple):
    """A threshold: a line with its value."""

    label: str
    value: float


class Chart(NamedTuple):
    """Points in time, oldest first, with the values that each series has there."""

    title: str
    unit: Unit
    form: Form
    x: Sequence[float]
    """Seconds since 1970, ascending."""
    names: Sequence[str]
    """What a point is called: the run, or the batch."""
    runs: Sequence[str | None]
    """The run that a click on the point opens; None: there is none."""
    series: Sequence[Series]
    bounds: Sequence[Bound] = ()
    log: bool = False
    """Whether values differ by thousands. Parts of a stack would lie: not with `stacked`."""


def drawn(chart: Chart) -> Markup:
    """The chart as JSON that may stand in an attribute between single quotes: for charts.js."""
    series = [
        {"label": _name(each.label), "kind": each.kind, "values": [*map(_finite, each.values)]}
        for each in chart.series
    ]
    bounds = [{"label": _name(each.label), "value": each.value} for each in chart.bounds]
    return htmlsafe_json_dumps(
        {
            **chart._asdict(),
            "names": [*map(_name, chart.names)],
            "runs": [*chart.runs],
            "x": [*chart.x],
            "series": series,
            "bounds": bounds,
        },
        separators=(",", ":"),
    )


def _name(text: str) -> str:
    return visible(text, MOST)


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return value if value is not None and math.isfinite(value) else None


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
