"""The Spark operator of each step. No other code looks at a step's type to choose an operator.

A new step is declared in spec/steps/ and joined in spec/steps/union.py; its operator implements
operator.py in a file of its own here.
"""

from __future__ import annotations

from typing import assert_never

from spark_jobs.spec import Aggregate, Deduplicate, GroupState, History, Latest, Transform
from spark_jobs.spec.steps.union import Stateful, Step
from spark_jobs.steps.aggregate import AggregateOperator
from spark_jobs.steps.deduplicate import DeduplicateOperator
from spark_jobs.steps.group_state import GroupStateOperator
from spark_jobs.steps.history import HistoryOperator
from spark_jobs.steps.latest import LatestOperator
from spark_jobs.steps.operator import Operator, StatefulOperator
from spark_jobs.steps.transform import TransformOperator


def operator(step: Step) -> Operator:
    """The operator of any step."""
    match step:
        case Transform():
            return TransformOperator(step)
        case Latest():
            return LatestOperator(step)
        case History():
            return HistoryOperator(step)
        case _:
            return stateful_operator(step)


def stateful_operator(step: Stateful) -> StatefulOperator:
    """The operator of a stateful step."""
    match step:
        case Deduplicate():
            return DeduplicateOperator(step)
        case Aggregate():
            return AggregateOperator(step)
        case GroupState():
            return GroupStateOperator(step)
        case _:
            assert_never(step)
