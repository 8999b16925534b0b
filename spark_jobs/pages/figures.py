"""Figures: all that the page of a pipeline over time shows, read once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.analysis.state_checks import state_checks_of
from spark_jobs.errors import SluiceError
from spark_jobs.ops import history, phases as ops_phases
from spark_jobs.ops.shown import Batches, CheckLine, PhaseLine, Runs
from spark_jobs.pages.amounts import number
from spark_jobs.pages.bars import Bar, Chart, Point
from spark_jobs.pages.run_charts import (
    account_bars,
    check_chart,
    lag_chart,
    late_chart,
    phase_bars,
    phases,
    size_chart,
    state_bars,
)
from spark_jobs.registry import find as registry

if TYPE_CHECKING:
    from upath import UPath


class Figures(NamedTuple):
    """The runs and batches of a page, newest first, and their charts, oldest left."""

    found: Runs
    batches: Batches
    seconds: tuple[PhaseLine, ...]
    phase_names: list[str]
    account: list[Bar]
    state: list[Bar]
    size: Chart
    lag: Chart
    late: Chart
    by_phase: list[Bar]


class _Bounds(NamedTuple):
    """Of the spec, as it is today."""

    budget_bytes: int | None = None
    late_share: float | None = None


def figures(root: UPath, pipeline: str, limit: int, offset: int) -> Figures:
    """Of `limit` runs and batches, after the newest `offset`."""
    found = history.runs(root, pipeline, limit, offset)
    batches = history.batches(root, pipeline, limit, offset)
    seconds = ops_phases.phases(root, pipeline, limit, offset).runs
    bounds = _bounds(pipeline)
    return Figures(
        found,
        batches,
        seconds,
        phases(seconds),
        account_bars(found.runs),
        state_bars(batches.batches),
        size_chart(batches.batches, bounds.budget_bytes),
        lag_chart(found.runs),
        late_chart(found.runs, bounds.late_share),
        phase_bars(seconds),
    )


def of_check(check: CheckLine) -> Chart:
    """What a check observed in this run and before: numbers, or else the failing rows."""
    points = [
        Point(run, run, value, number(value))
        for run, text in zip(reversed(check.runs), reversed(check.history), strict=True)
        if (value := _observed(text)) is not None
    ]
    now = _observed(check.result.observed)
    if now is None:
        counts = [*reversed(check.unexpected), check.result.unexpected]
        runs = [*reversed(check.runs), ""]
        points = [
            Point(run, run or "this run", count, f"{count:,} failing rows")
            for run, count in zip(runs, counts, strict=True)
        ]
        return check_chart(points, None)
    return check_chart([*points, Point("", "this run", now, number(now))], check.bound)


def _observed(observed: str) -> float | None:
    """The number that was observed; None if it is none, or not a finite one."""
    try:
        found = float(observed)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _bounds(pipeline: str) -> _Bounds:
    """None where the spec does not load: the history is there all the same."""
    try:
        spec = registry.load(pipeline)
    except SluiceError:
        return _Bounds()
    share = next(
        (
            check.kwargs.get("max_value")
            for check in state_checks_of(spec)
            if "late_share" in check.columns
        ),
        None,
    )
    return _Bounds(
        spec.state.budget_bytes, float(share) if isinstance(share, int | float) else None
    )
