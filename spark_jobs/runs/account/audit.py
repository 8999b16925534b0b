"""Audit: accounts for every committed batch once, and stores the records that were not accepted.

The checkpoint has the committed batches, and the audit catches up with it: during the query, after
it, and at the start of the next run. The rows of a batch replace earlier ones, and the cursor moves
after them. So a crash repeats at most one batch.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from spark_jobs.audit.balance import balance
from spark_jobs.audit.batch_offsets import Visible, visible
from spark_jobs.audit.counting import counting
from spark_jobs.audit.operator_metrics import operator_metrics
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.audit.topic_account import by_topic
from spark_jobs.audit.written import Written, written as written_by
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.rejected.kept_slices import keep_slices
from spark_jobs.rejected.rejected_record import BYTES, by_topic as rejected_by_topic, with_reasons
from spark_jobs.rejected.rejected_store import keep, key
from spark_jobs.runs.account.audited_batch import AuditedBatch, captured, event_times
from spark_jobs.state.open_groups import MOST_STATE_ROWS
from spark_jobs.steps.classify import Outcome
from spark_jobs.storage import failpoint

if TYPE_CHECKING:
    from spark_jobs.audit.counting import Grouped
    from spark_jobs.audit.progress import Progress
    from spark_jobs.audit.topic_account import TopicAccount
    from spark_jobs.checkpoint.notes.cursor import Cursor
    from spark_jobs.checkpoint.run import Run
    from spark_jobs.decode.raw_filter import CapturePolicy
    from spark_jobs.decode.slice_notes import SliceNotes
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.spec import Pipeline
    from spark_jobs.steps.timers import Timers

LOG = logging.getLogger(__name__)
OVERTAKEN = "spark_jobs.runs.account.overtaken:note_overtaken"
"""What notes the offsets that an archive lacks, where retention was faster."""
SECOND_READ = "spark_jobs.runs.account.second_read"
"""Loaded by name: of most batches the progress and the captured records tell."""
AT_ONCE = 10
"""Most batches audited between two reads of a running query's progress.

Spark keeps the progress of the last hundred.
"""


class Audit:
    """The account of one run."""

    def __init__(self, run: Run, spec: Pipeline, left: Audit | None = None) -> None:
        """`spec`: by which the batches were read. `left`: the audit of those that an earlier run
        had left, which has caught up.
        """
        self.run = run
        self._spec = spec
        self.cursor: Cursor = read_cursor(run.target.cursor)
        """As it is stored: the last batches that were audited and checked."""
        self.rows_before: int = left.rows_before if left else self.cursor.state.rows
        self.accounts: dict[int, Account] = dict(left.accounts) if left else {}
        self.topics: dict[str, Counter[str]] = dict(left.topics) if left else {}
        """Of several topics: name -> the sums of this run's batches (audit/topic_account.py)."""
        self._counting = counting(spec)
        self._capture: CapturePolicy | None = None
        self._timers: Timers | None = None
        self._notes: SliceNotes | None = None
        self.seconds: float = left.seconds if left else 0.0

    @property
    def total(self) -> Account:
        """The sum of this run's batches."""
        return sum(self.accounts.values(), Account())

    def begin(self, capture: CapturePolicy, timers: Timers, notes: SliceNotes) -> None:
        """Call it before each query, with the query's capture policy, timers and notes."""
        self._capture, self._timers, self._notes = capture, timers, notes

    def check_after(self, table_version: int) -> None:
        """Let the checks begin after this version of the table, unless they began earlier."""
        if self.cursor.judged_table_version is None:
            self._move(self.cursor.model_copy(update={"judged_table_version": table_version}))

    def passed(self, table_version: int | None, open_records: int | None) -> None:
        """Record that the rows of all audited batches, up to this version of the table, passed the
        critical checks, and how many records are in open groups.
        """
        passed = {
            "judged": self.cursor.audited,
            "judged_table_version": table_version,
            "judged_generation": self.run.identity.generation,
            "open_records": open_records,
        }
        self._move(self.cursor.model_copy(update=passed))

    def catch_up(self, progress: dict[int, Progress], *, ended: bool) -> None:
        """Account for each committed batch that has no account yet.

        In the order of the batches: the cursor says that all before it are accounted for. A batch
        waits for its progress, until a later batch has one or the query has `ended`: then its own
        is lost, and its counts are read from Kafka.

        Raises CheckpointBroken if the checkpoint lacks the offsets of one of them.
        """
        waiting = self.run.checkpoint.committed_after(self.cursor.audited)
        reported = max(progress, default=-1)
        ready = waiting if ended else [batch for batch in waiting if batch <= reported][:AT_ONCE]
        if not ready:
            return
        began = time.monotonic()
        table, owners = self.run.target.table, self.run.identity.owners(self.run.spec.name)
        written = written_by(table, owners, ready[0])
        for batch_id in ready:
            self._account(
                self.run.checkpoint.batch(batch_id), progress.get(batch_id), written.get(batch_id)
            )
        self.seconds += time.monotonic() - began

    def _account(self, batch: Batch, reported: Progress | None, written: Written | None) -> None:
        # If a stage ran twice, only the duration is reliable: the batch is counted as one whose
        # progress was lost.
        progress = None if reported and reported.repeated else reported
        records = self._records(batch, progress)
        rows_out = written.rows if written else 0
        step = self._spec.keyed
        table = self.run.target.table.path
        by_key = resolve_name(step.accounts)(table, written, step) if step else None
        account = balance(self._spec, batch, progress, records, rows_out, by_key)
        if account.unaccounted and records and not records.reread:
            records = self._read_again(batch)
            account = balance(self._spec, batch, progress, records, rows_out, by_key)
        topics = self._by_topic(batch, progress, records)
        differing = sum(each.unaccounted for each in topics.values())
        if differing > (account.unaccounted or 0):  # the sum may hide differences of two topics
            account = account.model_copy(update={"unaccounted": differing})
        self._say_unknown(batch, account, progress, records)
        self._note_overtaken(batch, records)
        fired = self._timers.fired.get(batch.id, {}) if self._timers else {}
        operators = operator_metrics(self._spec, progress, fired) if progress else None
        seconds = reported.seconds if reported else None
        done = AuditedBatch(
            batch,
            account,
            progress,
            seconds,
            written,
            event_times(progress, records),
            operators,
            self._grouped(account, topics, progress, records, written),
            records.schemas if records else None,
            topics,
            self._rules(progress, records),
        )
        where = key(self.run, batch)
        row = {**where, "run_id": self.run.run_id} | done.row(self.cursor)
        failpoint.at("audit")
        ours = ops_tables.equals(where)
        ops_tables.replace(self.run.paths.root, "batches", [row], ours, self.run.lease)
        failpoint.at("audited")
        self.accounts[batch.id] = account
        for name, each in topics.items():
            self.topics.setdefault(name, Counter()).update(each.counts)
        self._move(done.cursor_after(self.cursor))

    def _by_topic(
        self, batch: Batch, progress: Progress | None, records: RecordCounts | None
    ) -> dict[str, TopicAccount]:
        whole = records is not None and not (records.gone or records.compacted)
        counted = records.topics if records and whole else None
        return by_topic(self._spec.inputs, batch, progress, counted)

    def _rules(
        self, progress: Progress | None, records: RecordCounts | None
    ) -> dict[str, int] | None:
        names = [name for each in self._spec.inputs.rules for name in each]
        seen = progress.rules if progress else (records or RecordCounts()).rules
        return {name: seen.get(name, 0) for name in names} if names else None

    def _grouped(
        self,
        account: Account,
        topics: dict[str, TopicAccount],
        progress: Progress | None,
        records: RecordCounts | None,
        written: Written | None,
    ) -> Grouped | None:
        if self._counting is None:
            return None
        of_each = {name: each.counts for name, each in topics.items()}
        if progress:
            return self._counting.observed(progress, account, of_each)
        return self._counting.again(self.run.target.table, account, of_each, records, written)

    def _records(self, batch: Batch, progress: Progress | None) -> RecordCounts | None:
        slices = self._notes.take(batch, self._spec.inputs) if self._notes else []
        if progress is None:
            return self._read_of_lost(batch) if batch.covered else None
        rejected = captured(batch, progress, self._capture) if self._capture else None
        rejected = with_reasons(rejected, self._spec.inputs) if rejected else rejected
        if rejected and self._spec.inputs.spread:
            rejected = resolve_name(BYTES).with_bytes(self.run, self._spec, rejected)
        if rejected is None:
            return self._read_again(batch)
        shown = Visible(progress.read)
        if batch.covered != progress.read:  # gaps, if Kafka shows as few records
            shown = visible(self.run.source, self.run.spark, batch)
            if shown.committed != progress.read:
                return self._read_again(batch)
        unkept = keep(self.run, self._spec, batch, rejected) if rejected else 0
        # All that Spark read is still there: what is gone was never read, and has no slice.
        there = shown.there or batch
        schemas = keep_slices(self.run, batch, there, slices, progress.read)
        counts = Counter(record.outcome for record in rejected)
        return RecordCounts(
            read=shown.committed,
            malformed=counts[Outcome.MALFORMED],
            premature=counts[Outcome.PREMATURE],
            late=counts[Outcome.LATE],
            unkept=unkept,
            reread=False,
            gone=batch.covered - there.covered,
            aborted=shown.aborted,
            compacted=batch.covered != progress.read and self._compacted,
            schemas=schemas,
            topics=rejected_by_topic(rejected),
        )

    def _read_of_lost(self, batch: Batch) -> RecordCounts:
        """Of a batch without progress, whose Deduplicate is held against its state too."""
        records = self._read_again(batch)
        if records.gone or self.cursor.state.rows > MOST_STATE_ROWS:
            return records
        return records._replace(
            fresh=resolve_name(SECOND_READ).fresh_keys(self.run, self._spec, batch)
        )

    def _read_again(self, batch: Batch) -> RecordCounts:
        """From Kafka, which may have compacted records away since the batch was committed."""
        read_again = resolve_name(SECOND_READ).read_again
        records: RecordCounts = read_again(self.run, self._spec, batch)
        fewer = records.read + records.gone < batch.covered
        return records._replace(compacted=fewer and self._compacted)

    def _say_unknown(
        self, batch: Batch, account: Account, reported: Progress | None, found: RecordCounts | None
    ) -> None:
        name = self.run.spec.name
        if account.unknown:
            LOG.warning(
                "%s: batch %d: %d records are unknown: Kafka removed them after the batch was "
                "committed and before its account. They are in the table; bad or late ones among "
                "them may not be kept",
                name,
                batch.id,
                account.unknown,
            )
        elif found and found.compacted and not reported:
            LOG.warning(
                "%s: batch %d was read again after its commit, from a compacted topic: any of its "
                "%d gaps may have been a record then",
                name,
                batch.id,
                account.gaps,
            )

    def _note_overtaken(self, batch: Batch, records: RecordCounts | None) -> None:
        """Of an archive: before the cursor says that it has the offsets of the batch."""
        run = self.run
        if not (run.spec.is_archive and records and records.gone):
            return
        first = run.source.earliest(batch.end.partitions)
        lacks = resolve_name(OVERTAKEN)(run.paths, run.identity.topic_id, batch, first, run.lease)
        if lacks:
            LOG.warning(
                "%s: batch %d lacks %d offsets, which retention took before Spark read them: run "
                "it more often, or lengthen the topic's retention",
                run.spec.name,
                batch.id,
                lacks,
            )

    @cached_property
    def _compacted(self) -> bool:
        return self.run.source.compacted()

    def _move(self, cursor: Cursor) -> None:
        cursor.put(self.run.target.cursor, self.run.lease)
        self.cursor = cursor
