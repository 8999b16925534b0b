"""Unmatched share: a state check over the rows for which a dimension has none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pydantic import Field as Described

from spark_jobs.spec.checks.check import Check, Severity
from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step

PREFIX: Final = "unmatched_share_"
"""How the state metric of a dimension begins; its name follows."""
ENTERED: Final = ("accepted", "late")
WRITTEN: Final = ("rows_out",)


def looked_up(spec: Pipeline) -> dict[str, Counter[str]]:
    """Dimension -> the counts of an account (messages/report.py) whose sum is how many rows were
    looked up in it, each as often as it is to be added.

    Without those where no count tells: a later step may drop rows, or a record without a row is
    malformed.
    """
    found: dict[str, Counter[str]] = {}
    untold, entering = set[str](), len(spec.before_state)
    for at, step in enumerate(spec.steps):
        of = ENTERED if at < entering else WRITTEN
        alone = at < entering or not (spec.keyed or any(map(_may_drop, spec.steps[at + 1 :])))
        for name in (side.name for side in step.sides):
            if step.rejects or not (step.found_by(name) and alone):
                untold.add(name)
            found.setdefault(name, Counter()).update(of)
    return {name: counts for name, counts in found.items() if name not in untold}


def _may_drop(step: Step) -> bool:
    return not step.sides or not all(step.found_by(side.name) for side in step.sides)


def unmatched_metrics(spec: Pipeline) -> tuple[str, ...]:
    """The state metrics of these dimensions."""
    return tuple(f"{PREFIX}{name}" for name in looked_up(spec))


class _Share(Model):
    """What `unmatched_share` is given."""

    dimension: Name
    most: float = Described(ge=0, le=1, strict=False)


def unmatched_share(
    dimension: str, most: float, *, severity: Severity = "critical", about: str = ""
) -> Check:
    """A state check: of the rows that are looked up in the dimension, at most this share, from 0 to
    1, finds none of its rows. Refused behind the state if a later step may drop rows, and with
    missing="quarantine", where `malformed_share` tells. Null where no progress does. Raises
    SpecInvalid.
    """
    asked = _Share(dimension=dimension, most=most)
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": f"{PREFIX}{asked.dimension}", "max_value": asked.most},
        severity=severity,
        about=about or f"rows without one of {asked.dimension}, as a share of the rows looked up",
    )
