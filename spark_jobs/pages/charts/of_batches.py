"""The charts of batches: a point each, when it was accounted for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from spark_jobs.ops.json_of_tables import BatchLine, StepUse
from spark_jobs.pages.charts.chart import Bound, Chart, Series

FAR = 20
"""Times the highest value."""
FAR_ABOVE = " The budget is far above."


def rows_in_state(batches: Sequence[BatchLine], budget: int | None) -> Chart:
    """The rows in the state of each step, newest batch first, and the budget of all."""
    return _of(batches, "rows", lambda use: use.rows, lambda batch: batch.state_rows, budget)


def bytes_of_state(batches: Sequence[BatchLine], budget: int | None) -> Chart:
    """Their bytes likewise."""
    return _of(batches, "bytes", stored_bytes, lambda batch: batch.state_bytes, budget)


def stored_bytes(use: StepUse) -> int | None:
    """Memory and files of a step; None if neither is known."""
    if use.memory is None and use.files is None:
        return None
    return (use.memory or 0) + (use.files or 0)


def _known(batches: Sequence[BatchLine]) -> list[BatchLine]:
    return [each for each in reversed(batches) if each.audited_at is not None]


def _of(
    batches: Sequence[BatchLine],
    unit: Literal["rows", "bytes"],
    of_step: Callable[[StepUse], int | None],
    of_all: Callable[[BatchLine], int | None],
    budget: int | None,
) -> Chart:
    known = _known(batches)
    steps = {use.step: use.kind for batch in known for use in batch.steps}
    by_step = [{use.step: of_step(use) for use in batch.steps} for batch in known]
    series = [
        Series(f"step {step} ({kind})", [each.get(step) for each in by_step], f"part{place % 6}")
        for place, (step, kind) in enumerate(sorted(steps.items()))
    ] or [Series("state", [of_all(batch) for batch in known], "part0")]
    most = max((of_all(batch) or 0 for batch in known), default=0)
    # Below a line that is so much higher, all of it would be a line on the ground.
    far = budget is not None and budget > FAR * most
    return Chart(
        f"How many {unit} does it remember?" + (FAR_ABOVE if far else ""),
        unit,
        "stacked",
        [each.audited_at.timestamp() for each in known if each.audited_at],
        [f"batch {each.batch}" for each in known],
        [each.run_id for each in known],
        series,
        [] if far or budget is None else [Bound("budget", budget)],
    )
