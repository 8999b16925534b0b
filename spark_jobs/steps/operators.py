"""The Spark operator of each step, which its declaration names."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import cast

from spark_jobs.spec.steps.step import Step
from spark_jobs.steps.operator import Operator, StatefulOperator


def operator(step: Step) -> Operator:
    """The operator of any step."""
    return cast("Operator", resolve_name(step.operator)(step))


def stateful_operator(step: Step) -> StatefulOperator:
    """The operator of a stateful step."""
    return cast("StatefulOperator", resolve_name(step.operator)(step))
