"""Audit: accounts for every committed batch once, and stores the records that were not accepted.

The checkpoint has the committed batches, and the audit catches up with it: during the query, after
it, and at the start of the next run. The rows of a batch replace earlier ones, and the cursor moves
after them. So a crash repeats at most one batch.
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
"""Most batches audited between two reads of a running query's progress.

Spark keeps the progress of the last hundred.
"""


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
        """The stored cursor: the last batches that were audited and checked."""
        return self._cursor

    @property
    def total(self) -> Account:
        """The sum of this run's batches."""
        return sum(self.accounts.values(), Account())

    def begin(self, capture: CapturePolicy, timers: Timers) -> None:
        """Call it before each query, with the query's capture policy and timers."""
        self._capture = capture
        self._timers = timers

    def check_after(self, table_version: int) -> None:
        """Let the checks begin after this version of the table.

        Does nothing if they began earlier.
        """
        if self._cursor.judged_table_version is None:
            self._move(self._cursor.model_copy(update={"judged_table_version": table_version}))

    def passed(self, table_version: int | None) -> None:
        """Record that the rows of all audited batches, up to this version of the table, passed the
        critical checks.
        """
        passed = {"judged": self._cursor.audited, "judged_table_version": table_version}
        self._move(self._cursor.model_copy(update=passed))

    def catch_up(self, progress: dict[int, Progress], *, ended: bool) -> None:
        """Account for each committed batch that has no account yet.

        In the order of the batches: the cursor says that all before it are accounted for. A batch
        waits for its progress, until a later batch has one or the query has `ended`: then its own
        is lost, and its counts are read from Kafka.
        """
        waiting = [
            batch for batch in self.run.checkpoint.committed() if batch > self._cursor.audited
        ]
        reported = max(progress, default=-1)
        ready = waiting if ended else [batch for batch in waiting if batch <= reported][:AT_ONCE]
        if not ready:
            return
        began = time.monotonic()
        written = writer.written(self.run, ready[0])
        for batch_id in ready:
            self._account(
                self.run.checkpoint.batch(batch_id), progress.get(batch_id), written.get(batch_id)
            )
        self.seconds += time.monotonic() - began

    def _account(
        self, batch: Batch, reported: Progress | None, written: writer.Written | None
    ) -> None:
        # If a stage ran twice, only the duration is reliable: the batch is counted as one whose
        # progress was lost.
        progress = None if reported and reported.repeated else reported
        records = self._records(batch, progress)
        rows_out = written.rows if written else 0
        account = balance(self.run.spec, batch, progress, records, rows_out)
        if account.unaccounted and records and not records.reread:
            records = self._read_again(batch)
            account = balance(self.run.spec, batch, progress, records, rows_out)
        fired = self._timers.fired.get(batch.id, {}) if self._timers else {}
        operators = operator_metrics(self.run.spec, progress, fired) if progress else None
        seconds = reported.seconds if reported else None
        done = AuditedBatch(
            batch, account, progress, seconds, written, event_times(progress, records), operators
        )
        row = self._where(batch) | done.row(self._cursor)
        failpoint.at("audit")
        ops_tables.replace(self.run.paths.root, "batches", [row], **self._key(batch))
        failpoint.at("audited")
        self.accounts[batch.id] = account
        self._move(done.cursor_after(self._cursor))

    def _records(self, batch: Batch, progress: Progress | None) -> RecordCounts | None:
        """The counts of the batch's rejected records, which are stored.

        Reads Kafka again also to confirm gaps.
        """
        if progress is None:
            return self._read_again(batch) if batch.covered else None
        known = (
            captured(batch, progress, self._capture)
            if self._capture and batch.covered == progress.read
            else None
        )
        if known is None:
            return self._read_again(batch)
        if known:
            self._keep(batch, known)
        counts = Counter(record.outcome for record in known)
        return RecordCounts(
            read=progress.read,
            reread=False,
            **{outcome.value: counts[outcome] for outcome in REJECTED},
        )

    def _read_again(self, batch: Batch) -> RecordCounts:
        counts, rejected = read_again(self.run, batch)
        self._keep(batch, rejected)
        return counts

    def _keep(self, batch: Batch, rejected: list[RejectedRecord]) -> None:
        where = self._where(batch)
        topic = self.run.spec.topic
        step = (
            self.run.spec.entry.kind if self.run.spec.entry else ""
        )  # without state no record is late
        late = [
            where | record.late(topic, batch, step)
            for record in rejected
            if record.outcome is Outcome.LATE
        ]
        others = [
            where | record.quarantined(topic, batch)
            for record in rejected
            if record.outcome is not Outcome.LATE
        ]
        ops_tables.replace(self.run.paths.root, "quarantine", others, **self._key(batch))
        ops_tables.replace(self.run.paths.root, "late", late, **self._key(batch))

    def _move(self, cursor: Cursor) -> None:
        self._cursor = cursor
        cursor.write(self.run.target.cursor)

    def _key(self, batch: Batch) -> dict[str, str | int]:
        return {
            "pipeline": self.run.spec.name,
            "generation": self.run.identity.generation,
            "batch_id": batch.id,
        }

    def _where(self, batch: Batch) -> Row:
        return {**self._key(batch), "run_id": self.run.run_id}
