"""Chart: series over time, as a page, a report and a terminal draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from spark_jobs.errors.visible import visible
from spark_jobs.pages.amounts import Unit

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
