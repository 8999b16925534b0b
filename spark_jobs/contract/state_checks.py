"""The state checks that a pipeline has unless its spec says otherwise. docs/operators.md explains each."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contract.checks import Check, within
from spark_jobs.contract.spec import Pipeline

UNACCOUNTED = within(
    "unaccounted", 0, severity="critical",
    about="every offset has a fate; anything else is a bug in Sluice or a broken checkpoint",
)
"""Cannot be tuned or switched off."""


def judged(spec: Pipeline) -> tuple[Check, ...]:
    """All of a pipeline's state checks. One of the spec's own takes the place of the default on the same metric."""
    own = {column for check in spec.state_checks for column in check.columns}
    usual = (check for check in _usual(spec) if check.columns[0] not in {*own, *spec.state_checks_off})
    return (UNACCOUNTED, *_budget(spec), *usual, *spec.state_checks)


def _budget(spec: Pipeline) -> Iterable[Check]:
    if spec.state.budget_rows:
        yield within("state_rows", spec.state.budget_rows, severity="critical", about="the spec's state.budget_rows")


def _usual(spec: Pipeline) -> tuple[Check, ...]:
    return (
        within("state_growth", float(sum(step.rows_per_record for step in spec.steps)) or 1,
               about="state grew faster than records came in: look for keys that are never the same twice"),
        within("behind_watermark_seconds", 0,
               about="the watermark moved and nothing was evicted by it: a run was cut short; the next one evicts"),
        within("still_batches", 10,
               about="records come and none is newer: a producer's clock stands still, or old data is sent again"),
        within("late_share", 0.05, about="above this, watermark_delay is too short for this producer: see sluice show late"),
        within("timers_per_row", 10, about="timers are set faster than they fire: does a processor delete what it sets again?"),
        within("state_bytes", spec.state.budget_bytes, about="the spec's state.budget_bytes"),
    )
