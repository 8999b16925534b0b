"""The union of all steps. Each is a declaration in a file of spec/steps/, whose step.py has the
facts that every step must declare.

A new one joins Stateful here, or Step if it keeps no state. tests/unit/test_step_facts.py names the
facts that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field as Described

from spark_jobs.spec.steps.aggregate import Aggregate
from spark_jobs.spec.steps.deduplicate import Deduplicate
from spark_jobs.spec.steps.following import Following
from spark_jobs.spec.steps.group_state import GroupState
from spark_jobs.spec.steps.history import History
from spark_jobs.spec.steps.latest import Latest
from spark_jobs.spec.steps.transform import Transform

__all__ = [
    "Aggregate",
    "Deduplicate",
    "GroupState",
    "History",
    "Keyed",
    "Latest",
    "Stateful",
    "Step",
    "Transform",
    "followed",
]

Stateful = Deduplicate | Aggregate | GroupState
Keyed = Latest | History
"""Those that make the table follow a key."""
Step = Annotated[Stateful | Keyed | Transform, Described(discriminator="kind")]


def followed(steps: Sequence[Step]) -> Keyed | None:
    """The step that makes the table follow a key: the last one, if any."""
    return steps[-1] if steps and isinstance(steps[-1], Following) else None
