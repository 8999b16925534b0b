"""Groups: how many records a batch put into the groups of an Aggregate, and took out with the rows
that it wrote.

With the records in the open groups, which state/grouped.py reads, they must balance. An Aggregate
counts its records by the measure that `counts` names. Spark observes both; for a batch whose
progress is lost, Kafka and the table's rows tell them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.audit.balance import RecordCounts
from spark_jobs.audit.progress import Progress
from spark_jobs.messages.report import Account
from spark_jobs.sink.writer import Written
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.counting import counting_step
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.steps.chain import observation_name

if TYPE_CHECKING:
    from spark_jobs.table.port import Table


class Grouped(NamedTuple):
    """The records of one batch, or of several."""

    entered: int
    """Rows that entered the Aggregate and were not late."""
    written: int
    """Of the groups that it wrote and evicted, the records."""


class Counting(NamedTuple):
    """What of a spec is needed to count them: the Aggregate that counts its records."""

    at: int
    """Of its step, from 0."""
    behind: int
    """Stateful steps, and those between, before it."""
    evicts: bool
    """Whether it writes a group once, and evicts it: only then its rows say how many left."""
    is_last: bool
    measure: str
    """The measure of the table that counts, if it is the last step."""

    @classmethod
    def of(cls, spec: Pipeline) -> Counting | None:
        """None if no step's records can be balanced."""
        index = counting_step(spec)
        if index is None:
            return None
        step, last = spec.steps[index], index == len(spec.steps) - 1
        evicts = mode_facts(spec.output_mode).writes_evicted
        return cls(index, index - spec.first_stateful, evicts, last, step.counted_by or "")

    def observed(self, progress: Progress, account: Account) -> Grouped:
        """The batch's records in groups, as Spark observed them."""
        before = observation_name(self.at - 1)
        return Grouped(
            entered=progress.counted(before, "rows") if self.behind else account.accepted,
            written=progress.counted(observation_name(self.at), "counted") if self.evicts else 0,
        )

    def again(
        self, table: Table, account: Account, records: RecordCounts | None, written: Written | None
    ) -> Grouped | None:
        """The same of a batch without progress: as many as were accepted, or as a Deduplicate let
        through, and the counts in the rows of its commit.

        None if records are gone or may be (compaction), or if another step is before the Aggregate.
        """
        if account.unknown or (records and records.compacted):
            return None
        entered: int | None = 0
        if records is not None:
            entered = {0: account.accepted, 1: records.fresh}.get(self.behind)
        out = self._in_rows(table, written)
        return None if entered is None or out is None else Grouped(entered, out)

    def _in_rows(self, table: Table, written: Written | None) -> int | None:
        if not self.evicts or written is None:
            return 0
        return table.sum_of(written.version, self.measure) if self.is_last else None
