"""Growth: the state after each run, its budgets, and what the last runs say of them; in words: how
fast it grows, from what that is known, and when it is too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.errors import SluiceError
from spark_jobs.ops.forecast import LEAST, Forecast, after_runs, forecast, points
from spark_jobs.ops.json_of_tables import BatchLine, StepUse
from spark_jobs.pages import chart
from spark_jobs.pages.chart import Chart, in_bytes
from spark_jobs.pages.charts import bytes_of_state, rows_in_state, stored_bytes
from spark_jobs.spec.duration import approximate
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.times import at_seconds

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


DAY: Final = 86_400
SOON: Final = timedelta(days=3)
"""Nearer times are told by the minute."""
YEAR: Final = timedelta(days=365)
"""Farther ones by the month."""

WHY_NONE: Final = {
    "reached": "The budget is reached.",
    "flat": "So there is no forecast.",
    "falls": "No forecast: it falls.",
}


def lines(growth: Growth, now: datetime) -> Iterator[str]:
    """A few, for a terminal."""
    if not growth.live:
        yield "growth: no run has told of its state yet"
        return
    for each in growth.measured:
        yield f"state: {used(each)}. {basis(each.forecast, each.unit)} {verdict(each, now)}"
    if len(growth.live) > 1:
        yield from chart.lines(growth.charts[0])
    if len(growth.steps) > 1:
        yield from (f"step {each.step} {each.kind}: {of_step(each)}" for each in growth.steps)


def used(each: Measured) -> str:
    """What there is, of how much there may be."""
    now = f"{each.unit} not known" if each.now is None else amount(each.now, each.unit)
    return now if each.budget is None else f"{now} of {amount(each.budget, each.unit)}"


def of_step(each: StepGrowth) -> str:
    """Its rows and how they grow."""
    rows = "rows not known" if each.rows is None else amount(each.rows, "rows")
    return f"{rows}. {basis(each.growth, 'rows')}".strip()


def basis(found: Forecast, unit: Unit) -> str:
    """From what a forecast is, and the rate: empty if there is too little."""
    if found.verdict in {"few", "reached"}:
        return ""
    of = {
        "runs": f"From {found.points} runs",
        "tops": f"From the tops of {found.points} rises",
        "rise": f"From the {found.points} runs since it fell last",
    }[found.of]
    rate = "no growth" if found.verdict == "flat" else f"{_rate(found, unit)} a day"
    return f"{of} over {approximate(timedelta(seconds=found.seconds))}: {rate}."


def verdict(each: Measured, now: datetime) -> str:
    """When it reaches its budget, or why that is not told."""
    found = each.forecast
    if found.verdict == "few":
        so_far = (
            f"it rises and falls, {found.points} times"
            if found.of == "tops"
            else f"{found.points} runs"
        )
        return f"No forecast: {so_far} so far; {LEAST} are needed."
    if found.verdict in WHY_NONE:
        return WHY_NONE[found.verdict]
    if each.budget is None:
        return "There is no budget of rows: state.budget_rows sets one."
    return _reached(found, now)


def _reached(found: Forecast, now: datetime) -> str:
    if found.soonest is None:
        return "The budget is not reached within ten years."
    soonest = _day(found.soonest, now)
    if found.latest is not None and found.latest <= now.timestamp():
        return "By this growth the budget is reached by now: no run has told since."
    if found.latest is None:
        unsure = ", if at all" if found.verdict == "unclear" else ""
        return f"The budget is reached not before {soonest}{unsure}."
    latest = _day(found.latest, now)
    when = f"on {latest}" if soonest == latest else f"between {soonest} and {latest}"
    return f"The budget is reached {when}."


def amount(value: float, unit: Unit) -> str:
    """With its unit."""
    return in_bytes(value) if unit == "bytes" else f"{value:,.0f} rows"


def _rate(found: Forecast, unit: Unit) -> str:
    a_day = found.slope * DAY
    return f"{'-' if a_day < 0 else '+'}{amount(abs(a_day), unit)}"


def _day(at: float, now: datetime) -> str:
    """What lies behind a pipeline's last run by now may happen at any moment."""
    then = at_seconds(at)
    if then <= now:
        return "now"
    if then - now > SOON:
        return f"{then:%F}" if then - now < YEAR else f"{then:%B %Y}"
    return f"{then:%F %H:%M} UTC"
