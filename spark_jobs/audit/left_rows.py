"""Left rows: those of a Join in which each finds one row at most. So what leaves a left outer join,
the rows without one among it, is the left rows that are done; the others wait in its state.

entered   what was accepted of the left topic, or observed behind its Deduplicate
written   observed behind the join, before an inner one leaves rows out
open      the state's left rows that have found none
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from spark_jobs.audit.counting import Grouped
from spark_jobs.spec.steps.join import SEEN
from spark_jobs.state.table import Stores, store_columns
from spark_jobs.steps.apart.join import JOINED_SEEN

if TYPE_CHECKING:
    from spark_jobs.audit.counting import ByTopic
    from spark_jobs.audit.progress import Progress
    from spark_jobs.audit.record_counts import RecordCounts
    from spark_jobs.audit.written import Written
    from spark_jobs.messages.offset_account import Account
    from spark_jobs.spec import Join, Pipeline
    from spark_jobs.table.port import Table


class LeftRows(NamedTuple):
    """See Counting (audit/counting.py)."""

    step: Join
    is_last: bool
    """Whether its rows are the table's."""

    @classmethod
    def of(cls, spec: Pipeline, index: int) -> Self:
        """Of the Join with this index."""
        return cls(spec.steps[index], index == len(spec.steps) - 1)  # type: ignore[arg-type]

    def observed(self, progress: Progress, account: Account, topics: ByTopic) -> Grouped:  # noqa: ARG002 - Counting's
        entered = topics[self.step.left]["accepted"]
        if self.step.left in self.step.before:
            entered = progress.counted(SEEN[0], "rows")
        return Grouped(entered, progress.counted(JOINED_SEEN, "rows"))

    def again(
        self,
        table: Table,  # noqa: ARG002 - Counting's
        account: Account,
        topics: ByTopic,
        records: RecordCounts | None,
        written: Written | None,
    ) -> Grouped | None:
        gone = account.unknown or (records and records.compacted)
        if gone or self.step.left in self.step.before or not self.step.unmatched_leave:
            return None
        if not self.is_last:
            return None
        entered = topics[self.step.left].get("accepted", 0)
        return Grouped(entered, written.rows if written else 0)

    def open(self, stores: Stores) -> int | None:
        name = "left-keyWithIndexToValue"
        rows = stores.rows(0, storeName=name)  # it is the last
        # By its place: a field of the topic may have the name `matched` too.
        [*_, matched] = store_columns(rows, "symmetricHashJoin", None)
        return rows.where(~matched.expression).count()
