"""Audited batch: a batch with its account, its row in ops.batches, and the cursor after it.

With several topics, each has an account of the batch too. balance.py has the sum's.

offsets   the checkpoint's offset log, a line a topic
read      what each topic's source gave
observed  what Spark counted behind the decoder of each topic
records   the rejected records as they were captured, or all records as they were read again
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.audit.counting import Grouped
from spark_jobs.audit.operator_metrics import OperatorMetrics, timers_waiting
from spark_jobs.audit.progress import OfTopic, Progress
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.audit.rejected_record import RejectedRecord, moment
from spark_jobs.audit.written import Written
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.decode.slices import Ids
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.ops.terms import NEWEST
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.beside.matched import unmatched
from spark_jobs.steps.capture import ENTERED_SEEN
from spark_jobs.steps.chain import is_of_a_step
from spark_jobs.steps.classify import QUARANTINED, Outcome
from spark_jobs.values.numbering import input_of
from spark_jobs.values.spans import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row

Counts = Mapping[int, Mapping[str, int]]
"""Number of a topic -> its records by their outcome, and `read` if Kafka was read again."""


class TopicAccount(NamedTuple):
    """One topic's share of a batch."""

    counts: dict[str, int]
    """covered = read + gaps; read = malformed + premature + filtered + late + accepted."""
    unaccounted: int
    """The sum of the differences between two sources."""
    newest: datetime | None
    """The largest event time of what entered the first stateful step."""

    @property
    def told(self) -> dict[str, int]:
        """As ops.batches has it."""
        newest = {} if self.newest is None else {NEWEST: (self.newest - EPOCH) // MICROSECOND}
        return self.counts | {"unaccounted": self.unaccounted} | newest


def rejected_by_topic(records: Iterable[RejectedRecord]) -> Counts:
    """Of the records that were captured."""
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for record in records:
        found[input_of(record.partition)][record.outcome] += 1
    return found


def by_topic(
    inputs: Topics, batch: Batch, progress: Progress | None, records: Counts | None
) -> dict[str, TopicAccount]:
    """Name -> account; nothing where the pipeline has one topic. `records`: None if they were not
    counted, or if some of them are gone.
    """
    if not inputs.several:
        return {}
    covered: Counter[int] = Counter()
    for partition, offsets in batch.start.counts(batch.end).items():
        covered[input_of(partition)] += offsets
    found = {}
    for number, each in enumerate(inputs):
        seen = progress.topics[number] if progress and number < len(progress.topics) else None
        of = None if records is None else records.get(number, {})
        if seen is None:
            found[each.name] = _again(covered[number], of or {})
        else:
            found[each.name] = _observed(covered[number], seen, of)
    return found


def _observed(covered: int, seen: OfTopic, records: Mapping[str, int] | None) -> TopicAccount:
    malformed, premature, good = (
        int(seen.classified.get(outcome) or 0)
        for outcome in (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.GOOD)
    )
    entered = int(seen.entered.get("rows") or 0)
    late = records.get(Outcome.LATE, 0) if records else 0
    differences = [
        seen.read - malformed - premature - good,
        max(seen.read - covered, 0),
        min(good - entered, 0),
        min(entered - late, 0),
    ]
    if records is not None:
        stored = sum(records.get(outcome, 0) for outcome in QUARANTINED)
        differences.append(malformed + premature - stored)
        differences.append(seen.read - records.get("read", seen.read))
    counts = {
        "covered": covered,
        "read": seen.read,
        "gaps": covered - seen.read,
        "malformed": malformed,
        "premature": premature,
        "filtered": good - entered,
        "late": late,
        "accepted": entered - late,
    }
    return TopicAccount(counts, sum(map(abs, differences)), moment(seen.newest_us))


def _again(covered: int, records: Mapping[str, int]) -> TopicAccount:
    """The batch's progress was lost: Kafka alone tells."""
    read = records.get("read", 0)
    outcomes = (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.LATE, Outcome.ACCEPTED)
    by = {outcome.value: records.get(outcome, 0) for outcome in outcomes}
    counts = {"covered": covered, "read": read, "gaps": covered - read, **by}
    counts["filtered"] = read - sum(by.values())
    negative = sum(-count for count in counts.values() if count < 0)
    return TopicAccount(counts, negative, moment(records.get("last_event_us")))


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
            "late_before": moment(batch.late_before_ms * 1000 or None),
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
        return moment(seen.get("first_event_us")), moment(seen.get("last_event_us"))
    return (
        (moment(records.first_event_us), moment(records.last_event_us)) if records else (None, None)
    )
