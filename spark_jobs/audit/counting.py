"""Counting: the rows that entered a step must balance with those that left it and those in its
state. For each batch the first two are counted; the third is read of the state
(state/open_groups.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from spark_jobs.messages.offset_account import Account
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.state_checks import counting_step
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.state.open_groups import records_in_groups
from spark_jobs.steps.chain import observation_name

if TYPE_CHECKING:
    from spark_jobs.audit.progress import Progress
    from spark_jobs.audit.record_counts import RecordCounts
    from spark_jobs.audit.written import Written
    from spark_jobs.state.table import Stores
    from spark_jobs.table.port import Table

ByTopic = Mapping[str, Mapping[str, int]]
"""Of several topics: name -> its counts of the batch (TopicAccount.counts)."""


class Grouped(NamedTuple):
    """The records of one batch, or of several."""

    entered: int
    """Rows that entered the step and were not late."""
    written: int
    """Those that left it; of an Aggregate the records of the groups that it wrote and evicted."""


class Counting(Protocol):
    """A step's rows that entered, that left, and that its state has."""

    def observed(self, progress: Progress, account: Account, topics: ByTopic) -> Grouped:
        """The first two of a batch, as Spark observed them."""

    def again(
        self,
        table: Table,
        account: Account,
        topics: ByTopic,
        records: RecordCounts | None,
        written: Written | None,
    ) -> Grouped | None:
        """The same of a batch without progress, by Kafka and the rows of its commit; None if these
        do not tell.
        """

    def open(self, stores: Stores) -> int | None:
        """Those in the state; None if it does not tell."""


def counting(spec: Pipeline) -> Counting | None:
    """Of the step whose rows can be balanced; None if there is none."""
    index = counting_step(spec)
    if index is None:
        return None
    name = spec.steps[index].counting(spec.watermark_delay)
    return InGroups.of(spec, index) if name is None else resolve_name(name).of(spec, index)


class InGroups(NamedTuple):
    """Records in the groups of an Aggregate that counts them."""

    spec: Pipeline

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
    def of(cls, spec: Pipeline, index: int) -> Self:
        """Of the step with this index."""
        step, last = spec.steps[index], index == len(spec.steps) - 1
        evicts = mode_facts(spec.output_mode).writes_evicted
        return cls(spec, index, index - spec.first_stateful, evicts, last, step.counted_by or "")

    def observed(self, progress: Progress, account: Account, _: ByTopic) -> Grouped:
        before = observation_name(self.at - 1)
        return Grouped(
            entered=progress.counted(before, "rows") if self.behind else account.accepted,
            written=progress.counted(observation_name(self.at), "counted") if self.evicts else 0,
        )

    def again(
        self,
        table: Table,
        account: Account,
        _: ByTopic,
        records: RecordCounts | None,
        written: Written | None,
    ) -> Grouped | None:
        """Of a batch without progress: as many as were accepted, or as a Deduplicate let
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

    def open(self, stores: Stores) -> int | None:
        return records_in_groups(stores, self.spec, self.at)
