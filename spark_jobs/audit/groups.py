"""Groups: how many records a batch put into the groups of an Aggregate, and took out with the rows
that it wrote.

With the records in the open groups, which state/grouped.py reads, they must balance. An Aggregate
counts its records by the measure that `counts` names.
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.audit.progress import Progress
from spark_jobs.contract.counting import counting_step
from spark_jobs.contract.report import Account
from spark_jobs.contract.spec import Pipeline
from spark_jobs.steps.chain import observation_name


class Grouped(NamedTuple):
    """The records of one batch, or of several."""

    entered: int
    """Rows that entered the Aggregate and were not late."""
    written: int
    """Of the groups that it wrote and evicted, the records."""


def grouped(spec: Pipeline, progress: Progress | None, account: Account) -> Grouped | None:
    """The batch's records in groups, as Spark observed them; None if that is lost, or no step
    counts them.
    """
    index = counting_step(spec)
    if index is None or progress is None:
        return None
    before = index - 1
    first = index == spec.first_stateful
    return Grouped(
        entered=account.accepted if first else progress.counted(observation_name(before), "rows"),
        written=progress.counted(observation_name(index), "counted")
        if spec.output_mode == "append"
        else 0,
    )
