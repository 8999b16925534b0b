"""Unmatched: among how many rows a dimension's unmatched ones are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec.steps.step import Step

ENTERED: Final = ("accepted", "late")
WRITTEN: Final = ("rows_out",)


def looked_up(steps: Sequence[Step], entering: int, *, keyed: bool) -> dict[str, Counter[str]]:
    """Dimension -> the counts of an account (messages/report.py) whose sum is how many rows were
    looked up in it, each as often as it is to be added.

    `entering` steps are before the state; `keyed` rows are merged by key. Without dimensions where
    no count tells: a later step may drop rows, or a record without a row is malformed.
    """
    found: dict[str, Counter[str]] = {}
    untold = set[str]()
    for at, step in enumerate(steps):
        of = ENTERED if at < entering else WRITTEN
        alone = at < entering or not (keyed or any(map(_may_drop, steps[at + 1 :])))
        for name in (side.name for side in step.sides):
            if step.rejects or not (step.found_by(name) and alone):
                untold.add(name)
            found.setdefault(name, Counter()).update(of)
    return {name: counts for name, counts in found.items() if name not in untold}


def _may_drop(step: Step) -> bool:
    return not step.sides or not all(step.found_by(side.name) for side in step.sides)
