"""Figures: all that the page of a pipeline over time shows, read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import SluiceError
from spark_jobs.ops import history, phases as ops_phases
from spark_jobs.ops.json_of_tables import Batches, Runs
from spark_jobs.pages.charts.chart import Chart
from spark_jobs.pages.charts.of_runs import accounts, by_phase, lags, late_shares
from spark_jobs.registry import find as registry
from spark_jobs.spec.analysis.state_checks import state_checks_of

if TYPE_CHECKING:
    from upath import UPath


class Figures(NamedTuple):
    """The runs and batches of a page, newest first, and their charts."""

    found: Runs
    batches: Batches
    charts: list[Chart]


def figures(root: UPath, pipeline: str, limit: int, offset: int, charted: int = 0) -> Figures:
    """Of `limit` runs and batches, after the newest `offset`. The charts have more runs, if
    `charted` is more.
    """
    most = max(limit, charted)
    runs = history.runs(root, pipeline, most, offset)
    found = Runs(runs=runs.runs[:limit], more=runs.more or len(runs.runs) > limit)
    batches = history.batches(root, pipeline, limit, offset)
    charts = [
        accounts(runs.runs),
        lags(runs.runs),
        late_shares(runs.runs, _late_share(pipeline)),
        by_phase(ops_phases.phases(root, pipeline, most, offset).runs),
    ]
    return Figures(found, batches, charts)


def _late_share(pipeline: str) -> float | None:
    """None where the spec does not load: the history is there all the same."""
    try:
        spec = registry.load(pipeline)
    except SluiceError:
        return None
    share = next(
        (
            check.kwargs.get("max_value")
            for check in state_checks_of(spec)
            if "late_share" in check.columns
        ),
        None,
    )
    return float(share) if isinstance(share, int | float) else None
