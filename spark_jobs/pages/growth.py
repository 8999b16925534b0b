"""Growth: the state after each run, its budgets, and what the last runs say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from spark_jobs.errors import SluiceError
from spark_jobs.ops.growth.after_runs import after_runs, points
from spark_jobs.ops.growth.forecast import Forecast, forecast
from spark_jobs.ops.shown import BatchLine, StepUse
from spark_jobs.pages.charts.chart import Chart
from spark_jobs.pages.charts.of_batches import bytes_of_state, rows_in_state, stored_bytes
from spark_jobs.registry import find as registry
from spark_jobs.spec import State

if TYPE_CHECKING:
    from upath import UPath

Unit = Literal["rows", "bytes"]


class Measured(NamedTuple):
    """Rows or bytes of the whole state."""

    unit: Unit
    now: int | None
    """After the last run; None if nobody knows."""
    budget: int | None
    forecast: Forecast


class StepGrowth(NamedTuple):
    """Of one step."""

    step: int
    kind: str
    rows: int | None
    bytes: int | None
    growth: Forecast
    """Of its rows."""


class Growth(NamedTuple):
    """Of a pipeline."""

    after: list[BatchLine]
    """The last batch of each run, oldest first."""
    measured: tuple[Measured, ...]
    steps: tuple[StepGrowth, ...]
    charts: tuple[Chart, ...]


def growth(root: UPath, pipeline: str) -> Growth:
    """Of the newest generation, as the ops tables have it. Budgets are the spec's of today."""
    after = after_runs(root, pipeline)
    state = _state(pipeline)
    return Growth(
        after,
        (
            _measured(after, "rows", lambda batch: batch.state_rows, state.budget_rows),
            _measured(after, "bytes", lambda batch: batch.state_bytes, state.budget_bytes),
        ),
        tuple(_step(after, use) for use in after[-1].steps) if after else (),
        (
            rows_in_state(after[::-1], state.budget_rows),
            bytes_of_state(after[::-1], state.budget_bytes),
        ),
    )


def _measured(
    after: list[BatchLine], unit: Unit, of: Callable[[BatchLine], int | None], budget: int | None
) -> Measured:
    now = of(after[-1]) if after else None
    return Measured(unit, now, budget, forecast(points(after, of), budget))


def _step(after: list[BatchLine], last: StepUse) -> StepGrowth:
    def rows(batch: BatchLine) -> int | None:
        return next((use.rows for use in batch.steps if use.step == last.step), None)

    found = forecast(points(after, rows), None)
    return StepGrowth(last.step, last.kind, last.rows, stored_bytes(last), found)


def _state(pipeline: str) -> State:
    """The defaults where the spec does not load: the history is there all the same."""
    try:
        return registry.load(pipeline).state
    except SluiceError:
        return State()
