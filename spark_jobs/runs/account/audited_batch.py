"""Audited batch: a batch with its account, its row in ops.batches, and the cursor after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.audit.counting import Grouped
from spark_jobs.audit.operator_metrics import OperatorMetrics, timers_waiting
from spark_jobs.audit.progress import Progress
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.audit.topic_account import TopicAccount
from spark_jobs.audit.written import Written
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.decode.slices import Ids
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.rejected.rejected_record import RejectedRecord
from spark_jobs.source.micro_batch import Batch
from spark_jobs.steps.beside.matched import unmatched
from spark_jobs.steps.capture import CLASSIFIED_SEEN, ENTERED_SEEN
from spark_jobs.steps.chain import is_of_a_step
from spark_jobs.steps.classify import QUARANTINED, Outcome
from spark_jobs.values.times import at_micros

if TYPE_CHECKING:
    from spark_jobs.decode.raw_filter import CapturePolicy
    from spark_jobs.ops.schema import Row


class AuditedBatch(NamedTuple):
    """A committed batch with what Spark, Delta and the audit report of it."""

    batch: Batch
    account: Account
    progress: Progress | None
    """None if it was lost, or is not reliable because a stage ran twice."""
    seconds: float | None
    """Duration of the batch as Spark reported it; None if that was lost."""
    written: Written | None
    """None if the batch has no commit in the table's history."""
    event_times: tuple[datetime | None, datetime | None]
    """Smallest and largest event time of the rows that entered the first stateful step; None if
    there were none.
    """
    operators: list[OperatorMetrics] | None
    """None without progress."""
    grouped: Grouped | None
    """None without an Aggregate that counts its records, and if a source of it is lost."""
    schemas: Ids | None = None
    """The ids of schemas that its records begin with; None if not known."""
    topics: Mapping[str, TopicAccount] = MappingProxyType({})
    """Of several topics: name -> account."""
    rules: Mapping[str, int] | None = None
    """The records that fail each rule; None without rules."""

    def state(self, before: Cursor) -> StateUse:
        """State after the batch: as it reported, else as the last batch that reported state did."""
        return (self.progress.state if self.progress else None) or before.state

    def row(self, before: Cursor) -> Row:
        """Its columns in ops.batches, without the key columns and run_id."""
        state = self.state(before)
        batch = self.batch
        first, last = self.event_times
        return self.account.row() | {
            "source": "progress" if self.progress else "reread",
            "seconds": self.seconds,
            "offsets_start": batch.start.json,
            "offsets_end": batch.end.json,
            "first_event_time": first,
            "last_event_time": last,
            "watermark": batch.watermark,
            "late_before": at_micros(batch.late_before_ms * 1000 or None),
            "groups_in": self.grouped.entered if self.grouped else None,
            "groups_out": self.grouped.written if self.grouped else None,
            "state_rows": state.rows,
            "state_bytes": state.bytes,
            "operators": None
            if self.operators is None
            else [operator.row() for operator in self.operators],
            "schemas": json.dumps(dict(self.schemas)) if self.schemas else None,
            "topics": self._topics(),
            "rules": None if self.rules is None else [*self.rules.items()],
            "unmatched": self._unmatched(),
            "table_version": self.written.version if self.written else None,
            "audited_at": datetime.now(UTC),
        }

    def _unmatched(self) -> list[tuple[str, int]] | None:
        if self.progress is None:
            return None
        seen = self.progress.observed.items()
        observed = (of for name, of in seen if name == ENTERED_SEEN or is_of_a_step(name))
        return [*unmatched(observed).items()] or None

    def _topics(self) -> str | None:
        if not self.topics:
            return None
        return json.dumps({name: each.told for name, each in self.topics.items()})

    def cursor_after(self, before: Cursor) -> Cursor:
        """The cursor once this batch has its row."""
        newest = max(filter(None, [before.last_event_time, self.event_times[1]]), default=None)
        still = before.still_batches + 1 if newest == before.last_event_time else 0
        progress = self.progress if self.progress and self.progress.operators else None
        waiting = timers_waiting(progress) if progress else before.timers_waiting
        return before.model_copy(
            update={
                "audited": self.batch.id,
                "state": self.state(before),
                "last_event_time": newest,
                "still_batches": still if self.account.accepted else before.still_batches,
                "timers_waiting": waiting,
                "newest": _newer(before.newest, self.topics),
            }
        )


def _newer(
    newest: tuple[tuple[str, datetime], ...], topics: Mapping[str, TopicAccount]
) -> tuple[tuple[str, datetime], ...]:
    found = dict(newest)
    for name, each in topics.items():
        if each.newest is not None:
            found[name] = max(each.newest, found.get(name, each.newest))
    return tuple(found.items())


def event_times(
    progress: Progress | None, records: RecordCounts | None
) -> tuple[datetime | None, datetime | None]:
    """The smallest and the largest event time of the stateful input, as Spark observed it or as it
    was read again.
    """
    if progress is not None:
        seen = progress.observed.get(ENTERED_SEEN, {})
        return at_micros(seen.get("first_event_us")), at_micros(seen.get("last_event_us"))
    return (
        (at_micros(records.first_event_us), at_micros(records.last_event_us))
        if records
        else (None, None)
    )


def captured(
    batch: Batch, progress: Progress, policy: CapturePolicy
) -> list[RejectedRecord] | None:
    """The batch's rejected records; None if some are missing: too many to capture, or late by
    another watermark.
    """
    same = batch.late_before_ms == policy.late_before_ms
    if progress.dropped and not same:
        return None
    records = progress.captured(CLASSIFIED_SEEN) + (progress.captured(ENTERED_SEEN) if same else [])
    expected = sum(progress.counted(CLASSIFIED_SEEN, outcome) for outcome in QUARANTINED)
    expected += progress.counted(ENTERED_SEEN, Outcome.LATE) if same else 0
    return (
        [RejectedRecord.of_progress(record) for record in records]
        if len(records) == expected
        else None
    )
