"""Audit: accounts for every committed batch, once, and keeps the records that were not accepted.

The checkpoint is the truth and the audit catches up with it: while the query runs, after it, and at the start of the next run.
Each batch is written whole and the cursor moves after it, so a crash repeats at most one batch, with the same result.
"""

from __future__ import annotations

import time
from collections import Counter

from spark_jobs import failpoint
from spark_jobs.audit.audited_batch import AuditedBatch, event_times
from spark_jobs.audit.balance import RecordCounts, balance
from spark_jobs.audit.operator_metrics import operator_metrics
from spark_jobs.audit.progress import Progress
from spark_jobs.audit.rejected import RejectedRecord, Row, captured
from spark_jobs.audit.second_read import read_again
from spark_jobs.checkpoint.cursor import Cursor, read_cursor
from spark_jobs.classify.outcome import REJECTED, Outcome
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.contract.report import Account
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.ops import ops_tables
from spark_jobs.run import Run
from spark_jobs.sink import writer
from spark_jobs.steps.timers import Timers

AT_ONCE = 10
"""Batches between two looks at a running query's progress, of which Spark remembers the last hundred."""


class Audit:
    """The account of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._cursor: Cursor = read_cursor(run.target.cursor)
        self.rows_before = self._cursor.state.rows
        self.accounts: dict[int, Account] = {}
        self._capture: CapturePolicy | None = None
        self._timers: Timers | None = None
        self.seconds = 0.0

    @property
    def cursor(self) -> Cursor:
        """How far account and checks have come, as it is stored."""
        return self._cursor

    @property
    def total(self) -> Account:
        """The sum of this run's batches."""
        return sum(self.accounts.values(), Account())

    def begin(self, capture: CapturePolicy, timers: Timers) -> None:
        """A query begins: whose raw bytes it captures, and what counts its timers."""
        self._capture, self._timers = capture, timers

    def check_after(self, table_version: int) -> None:
        """The checks judge what comes after this version of the table. Nothing changes where they have begun already."""
        if self._cursor.judged_table_version is None:
            self._move(self._cursor.model_copy(update={"judged_table_version": table_version}))

    def passed(self, table_version: int | None) -> None:
        """The rows of all audited batches passed the critical checks, up to this version of the table."""
        passed = {"judged": self._cursor.audited, "judged_table_version": table_version}
        self._move(self._cursor.model_copy(update=passed))

    def catch_up(self, progress: dict[int, Progress], *, ended: bool) -> None:
        """Account for each committed batch that has no account yet.

        A batch whose progress is still to come waits; once the query has `ended` it is lost, and counts come from Kafka.
        """
        waiting = [batch for batch in self.run.checkpoint.committed() if batch > self._cursor.audited]
        ready = waiting if ended else [batch for batch in waiting if batch in progress][:AT_ONCE]
        if not ready:
            return
        began = time.monotonic()
        written = writer.written(self.run, ready[0])
        for batch_id in ready:
            self._account(self.run.checkpoint.batch(batch_id), progress.get(batch_id), written.get(batch_id))
        self.seconds += time.monotonic() - began

    def _account(self, batch: Batch, told: Progress | None, written: writer.Written | None) -> None:
        # Of a batch in which a stage ran twice nothing is believed but its time: it is counted as one whose progress was lost.
        progress = None if told and told.repeated else told
        records, rows_out = self._records(batch, progress), written.rows if written else 0
        account = balance(self.run.spec, batch, progress, records, rows_out)
        if account.unaccounted and records and not records.reread:
            records = self._read_again(batch)
            account = balance(self.run.spec, batch, progress, records, rows_out)
        fired = self._timers.fired.get(batch.id, {}) if self._timers else {}
        operators = operator_metrics(self.run.spec, progress, fired) if progress else None
        seconds, times = told.seconds if told else None, event_times(progress, records)
        done = AuditedBatch(batch, account, progress, seconds, written, times, operators)
        row = self._where(batch) | done.row(self._cursor)
        failpoint.at("audit")
        ops_tables.replace(self.run.paths.root, "batches", [row], **self._key(batch))
        failpoint.at("audited")
        self.accounts[batch.id] = account
        self._move(done.cursor_after(self._cursor))

    def _records(self, batch: Batch, progress: Progress | None) -> RecordCounts | None:
        """What is known of the batch's rejected records, which are kept. Read again where gaps are to be confirmed, too."""
        if progress is None:
            return self._read_again(batch) if batch.covered else None
        known = captured(batch, progress, self._capture) if self._capture and batch.covered == progress.read else None
        if known is None:
            return self._read_again(batch)
        if known:
            self._keep(batch, known)
        counts = Counter(record.outcome for record in known)
        return RecordCounts(read=progress.read, reread=False, **{outcome.value: counts[outcome] for outcome in REJECTED})

    def _read_again(self, batch: Batch) -> RecordCounts:
        counts, rejected = read_again(self.run, batch)
        self._keep(batch, rejected)
        return counts

    def _keep(self, batch: Batch, rejected: list[RejectedRecord]) -> None:
        where, topic = self._where(batch), self.run.spec.topic
        step = self.run.spec.entry.kind if self.run.spec.entry else ""  # without state nothing is late
        late = [where | record.late(topic, batch, step) for record in rejected if record.outcome is Outcome.LATE]
        others = [where | record.quarantined(topic) for record in rejected if record.outcome is not Outcome.LATE]
        ops_tables.replace(self.run.paths.root, "quarantine", others, **self._key(batch))
        ops_tables.replace(self.run.paths.root, "late", late, **self._key(batch))

    def _move(self, cursor: Cursor) -> None:
        self._cursor = cursor
        cursor.write(self.run.target.cursor)

    def _key(self, batch: Batch) -> dict[str, str | int]:
        return {"pipeline": self.run.spec.name, "generation": self.run.identity.generation, "batch_id": batch.id}

    def _where(self, batch: Batch) -> Row:
        return {**self._key(batch), "run_id": self.run.run_id}
