"""The steps of a pipeline, as declarations: one file for each step, and step.py with the facts that
each must declare.

A new step joins Step here and gets an operator in steps/operators.py. mypy and
tests/unit/test_steps.py name what is missing.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field as Described

from spark_jobs.contract.step.aggregate import Aggregate
from spark_jobs.contract.step.deduplicate import Deduplicate
from spark_jobs.contract.step.group_state import GroupState
from spark_jobs.contract.step.transform import Transform

__all__ = ["Aggregate", "Deduplicate", "GroupState", "Stateful", "Step", "Transform"]

Stateful = Deduplicate | Aggregate | GroupState
Step = Annotated[Stateful | Transform, Described(discriminator="kind")]
