"""The charts of runs: a point each, at its begin."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.ops.json_of_tables import PhaseLine, RunLine
from spark_jobs.pages.amounts import Unit
from spark_jobs.pages.charts.chart import Bound, Chart, Form, Series

OUTCOMES = ("accepted", "duplicates", "late", "malformed", "premature", "filtered", "unaccounted")
"""Where records went, as they are stacked. `accepted` are those that were no duplicates."""


def accounts(runs: Sequence[RunLine]) -> Chart:
    """What became of the records that each run read."""
    parts = [outcomes(run) for run in reversed(runs)]
    series = [Series(name, [each.get(name) for each in parts], name) for name in OUTCOMES]
    return _of(runs, "Where did the records of each run go?", "records", "stacked", series)


def outcomes(run: RunLine) -> dict[str, int]:
    """Outcome -> records, without those that are not known. They add up to what was read, and the
    mismatches: duplicates that are not known are among the accepted.
    """
    rejected = {name: count for name in OUTCOMES[1:] if (count := getattr(run, name)) is not None}
    left = run.read - sum(count for name, count in rejected.items() if name != "unaccounted")
    return {"accepted": max(0, left)} | rejected


def lags(runs: Sequence[RunLine]) -> Chart:
    """How far the watermark was behind the clock at the end of each run."""
    values = [
        None if run.watermark is None else max(0.0, (run.ended_at - run.watermark).total_seconds())
        for run in reversed(runs)
    ]
    series = [Series("behind the clock", values, "part0")]
    return _of(runs, "How far behind was the watermark?", "seconds", "line", series)


def late_shares(runs: Sequence[RunLine], most: float | None) -> Chart:
    """Late records as a share of the decoded ones; the check's bound."""
    series = [Series("late", [late_share(run) for run in reversed(runs)], "late")]
    bounds = [] if most is None else [Bound("check", most)]
    return _of(runs, "What share of the records was late?", "share", "bars", series, bounds)


def late_share(run: RunLine) -> float | None:
    """Late records as a share of the decoded ones; None if there are none."""
    decoded = run.read - run.malformed
    return run.late / decoded if decoded > 0 else None


def by_phase(runs: Sequence[PhaseLine]) -> Chart:
    """The seconds of each phase."""
    names = dict.fromkeys(name for run in runs for name in run.seconds)
    series = [
        Series(name, [run.seconds.get(name) for run in reversed(runs)], f"part{place % 6}")
        for place, name in enumerate(names)
    ]
    return _of(runs, "Where did the time go?", "seconds", "stacked", series)


def _of(
    runs: Sequence[RunLine | PhaseLine],
    title: str,
    unit: Unit,
    form: Form,
    series: Sequence[Series],
    bounds: Sequence[Bound] = (),
) -> Chart:
    ids = [run.run_id for run in reversed(runs)]
    x = [run.started_at.timestamp() for run in reversed(runs)]
    return Chart(title, unit, form, x, ids, ids, series, bounds)
