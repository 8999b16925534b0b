"""Groups: how many records a batch put into the groups of an Aggregate, and took out with the rows
that it wrote.

With the records in the open groups, which state/grouped.py reads, they must balance. An Aggregate
counts its records by the measure that `counts` names. Spark observes both; for a batch whose
progress is lost, Kafka and the table's rows tell them.
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.analysis.counting import counting_step
from spark_jobs.audit.balance import RecordCounts
from spark_jobs.audit.progress import Progress
from spark_jobs.messages.report import Account
from spark_jobs.run import Run
from spark_jobs.sink import rows_of
from spark_jobs.sink.writer import Written
from spark_jobs.spec import Aggregate, Pipeline
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


def grouped_again(
    run: Run, account: Account, records: RecordCounts | None, written: Written | None
) -> Grouped | None:
    """The same of a batch without progress: as many as were accepted, or as a Deduplicate let
    through, and the counts in the rows of its commit.

    None also if records are gone or may be (compaction), or if another step is before the
    Aggregate.
    """
    index = counting_step(run.spec)
    if index is None or account.unknown or (records and records.compacted):
        return None
    entered: int | None = None
    if records is None:
        entered = 0
    elif index == run.spec.first_stateful:
        entered = account.accepted
    elif index == run.spec.first_stateful + 1:
        entered = records.fresh
    out = _counted_in_rows(run, index, written)
    return None if entered is None or out is None else Grouped(entered, out)


def _counted_in_rows(run: Run, index: int, written: Written | None) -> int | None:
    step = run.spec.steps[index]
    assert isinstance(step, Aggregate)
    if run.spec.output_mode != "append" or written is None:
        return 0
    if index != len(run.spec.steps) - 1:
        return None
    return rows_of.sum_of(run.target.table, written.version, step.counts or "")
