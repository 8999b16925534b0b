"""The chart of a check: a point a run, oldest first, this run last."""

from __future__ import annotations

import math

from spark_jobs.ops.json_of_tables import CheckLine
from spark_jobs.pages.charts.chart import Bound, Chart, Series

THIS = "this run"


def of_check(check: CheckLine) -> Chart:
    """What a check observed in this run and before: numbers, or else the failing rows. The times of
    the runs before are not known here: points stand in their order.
    """
    runs = [*reversed(check.runs)]
    before = [*map(_observed, reversed(check.history))]
    now = _observed(check.result.observed)
    bounds = list[Bound]()
    if now is None:
        values: list[float | None] = [*reversed(check.unexpected), check.result.unexpected]
        series = Series("failing rows", values, "over")
    else:
        series = Series("observed", [*before, now], "part0")
        bounds = [] if check.bound is None else [Bound("bound", check.bound)]
    x = [float(place) for place in range(len(runs) + 1)]
    return Chart(
        check.result.name, "number", "bars", x, [*runs, THIS], [*runs, None], [series], bounds
    )


def _observed(observed: str) -> float | None:
    try:
        found = float(observed)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
