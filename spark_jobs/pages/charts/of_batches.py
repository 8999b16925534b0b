"""The charts of batches: a point each, when it was accounted for."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.ops.shown import BatchLine
from spark_jobs.pages.amounts import Unit
from spark_jobs.pages.charts.chart import Bound, Chart, Form, Series


def rows_in_state(batches: Sequence[BatchLine]) -> Chart:
    """The rows in the state of each step."""
    steps = {use.step: use.kind for batch in batches for use in batch.steps}
    of = [{use.step: use.rows for use in batch.steps} for batch in _known(batches)]
    series = [
        Series(f"step {step} ({kind})", [each.get(step) for each in of], f"part{place % 6}")
        for place, (step, kind) in enumerate(sorted(steps.items()))
    ] or [Series("state", [batch.state_rows for batch in _known(batches)], "part0")]
    return _of(batches, "How many rows are in state?", "rows", "stacked", series)


def bytes_of_state(batches: Sequence[BatchLine], budget: int | None) -> Chart:
    """The bytes of the state, and the budget."""
    series = [Series("state", [batch.state_bytes for batch in _known(batches)], "part0")]
    bounds = [] if budget is None else [Bound("budget", budget)]
    return _of(batches, "How large is the state?", "bytes", "line", series, bounds)


def _known(batches: Sequence[BatchLine]) -> list[BatchLine]:
    """Oldest first, without those of which nobody knows when they were."""
    return [each for each in reversed(batches) if each.audited_at is not None]


def _of(
    batches: Sequence[BatchLine],
    title: str,
    unit: Unit,
    form: Form,
    series: Sequence[Series],
    bounds: Sequence[Bound] = (),
) -> Chart:
    known = _known(batches)
    x = [each.audited_at.timestamp() for each in known if each.audited_at]
    names = [f"batch {each.batch}" for each in known]
    return Chart(title, unit, form, x, names, [each.run_id for each in known], series, bounds)
