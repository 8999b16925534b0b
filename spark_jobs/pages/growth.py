"""Growth: the state after each run, its budgets, and what the last runs say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.errors import SluiceError
from spark_jobs.ops.growth.after_runs import after_runs, points
from spark_jobs.ops.growth.forecast import Forecast, forecast
from spark_jobs.ops.json_of_tables import BatchLine, StepUse
from spark_jobs.pages.charts.chart import Chart
from spark_jobs.pages.charts.of_batches import bytes_of_state, rows_in_state, stored_bytes
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline

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

    live: list[BatchLine]
    """The last batch of each run of the checkpoint's generation, oldest first."""
    measured: tuple[Measured, ...]
    steps: tuple[StepGrowth, ...]
    charts: tuple[Chart, ...]


def growth(root: UPath, spec: Pipeline) -> Growth:
    """Of the place that the spec has, as the ops tables have it. The charts begin where its state
    did, and so before a rewind. What is said is of its generation alone.
    """
    after, generations = after_runs(root, spec.name), _generations(root, spec)
    if generations:  # a rebuild beside it writes batches too
        after = [batch for batch in after if batch.generation in generations]
    last = generations[-1] if generations else after[-1].generation if after else ""
    live = [batch for batch in after if batch.generation == last]
    rows, size = spec.state.budget_rows, spec.state.budget_bytes
    return Growth(
        live,
        (
            _measured(live, "rows", lambda batch: batch.state_rows, rows),
            _measured(live, "bytes", lambda batch: batch.state_bytes, size),
        ),
        tuple(_step(live, use) for use in live[-1].steps) if live else (),
        (rows_in_state(after[::-1], rows), bytes_of_state(after[::-1], size)),
    )


def _generations(root: UPath, spec: Pipeline) -> tuple[str, ...]:
    try:
        identity = read_identity(Paths(str(root), spec))
    except SluiceError:
        return ()
    return identity.generations if identity else ()


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
