"""Audit: accounts for every committed batch, once, and keeps the records that were not accepted.

The checkpoint is the truth and the audit catches up with it: while the query runs, after it, and at the start of the next run.
Each batch is written whole and the cursor moves after it, so a crash repeats at most one batch, with the same result.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from pyspark.sql import Observation, functions as F

from spark_jobs import failpoint, ops
from spark_jobs.checkpoint import Batch
from spark_jobs.contract.report import Account
from spark_jobs.cursor import Cursor, read_cursor
from spark_jobs.run import Run
from spark_jobs.stages import fate, kept, operators, sink, source
from spark_jobs.stages.account import Found, balance
from spark_jobs.stages.kept import moment
from spark_jobs.stages.progress import Progress
from spark_jobs.stages.raw_filter import CapturePolicy
from spark_jobs.stateful.timers import Timers

AT_ONCE = 10
"""Batches between two looks at a running query's progress, of which Spark remembers the last hundred."""

SLICE = 500_000
"""Offsets that are read again at a time: bounds the driver's memory, whatever the batch's size."""


class Audit:
    """The account of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.cursor: Cursor = read_cursor(run.paths.cursor)
        self.rows_before = self.cursor.state.rows
        self.accounts: dict[int, Account] = {}
        self.keeping: CapturePolicy | None = None
        """What the query that is running lets through; None where none is."""
        self.timers: Timers | None = None
        """What that query counts of its timers."""
        self.seconds = 0.0

    @property
    def total(self) -> Account:
        """The sum of this run's batches."""
        return sum(self.accounts.values(), Account())

    def catch_up(self, progress: dict[int, Progress], *, ended: bool) -> None:
        """Account for each committed batch that has no account yet.

        A batch whose progress is still to come waits; once the query has `ended` it is lost, and counts come from Kafka.
        """
        waiting = [batch for batch in self.run.checkpoint.committed() if batch > self.cursor.audited]
        ready = waiting if ended else [batch for batch in waiting if batch in progress][:AT_ONCE]
        if not ready:
            return
        began = time.monotonic()
        written = sink.written(self.run, ready[0])
        for batch_id in ready:
            self._account(self.run.checkpoint.batch(batch_id), progress.get(batch_id), written.get(batch_id))
        self.seconds += time.monotonic() - began

    def _account(self, batch: Batch, told: Progress | None, written: sink.Written | None) -> None:
        # Of a batch in which a stage ran twice nothing is believed but its time: it is counted as one whose progress was lost.
        progress = None if told and told.repeated else told
        found, rows_out = self._found(batch, progress), written.rows if written else 0
        account = balance(self.run.spec, batch, progress, found, rows_out)
        if account.unaccounted and found and not found.reread:
            found = self._read_again(batch)
            account = balance(self.run.spec, batch, progress, found, rows_out)
        state = (progress.state if progress else None) or self.cursor.state
        first_us, last_us = _span(progress, found)
        newest = max(filter(None, [self.cursor.last_event_time, moment(last_us)]), default=None)
        still = self.cursor.still_batches + 1 if newest == self.cursor.last_event_time else 0
        fired = self.timers.fired.get(batch.id, {}) if self.timers else {}
        row = self._where(batch) | account.model_dump() | {
            "source": "progress" if progress else "reread",
            "seconds": told.seconds if told else None,
            "offsets_start": json.dumps(batch.start), "offsets_end": json.dumps(batch.end),
            "first_event_time": moment(first_us), "last_event_time": moment(last_us),
            "watermark": batch.watermark, "late_before": moment(batch.late_before_ms * 1000 or None),
            "state_rows": state.rows, "state_bytes": state.bytes,
            "operators": operators.used(self.run.spec, progress, fired) if progress else None,
            "table_version": written.version if written else None, "audited_at": datetime.now(UTC),
        }
        failpoint.at("audit")
        ops.replace(self.run.paths.root, "batches", [row], **self._key(batch))
        failpoint.at("audited")
        self.accounts[batch.id] = account
        moved = {"last_event_time": newest, "still_batches": still if account.accepted else self.cursor.still_batches}
        if written:
            moved["table_version"] = written.version
        if progress and progress.operators:
            moved["timers_waiting"] = operators.timers_waiting(progress)
        self.cursor = self.cursor.model_copy(update={"audited": batch.id, "state": state, **moved})
        self.cursor.write(self.run.paths.cursor)

    def _found(self, batch: Batch, progress: Progress | None) -> Found | None:
        """What is known of the batch's bad and late records, which are kept. Read again where gaps are to be confirmed, too."""
        if progress is None:
            return self._read_again(batch) if batch.covered else None
        rows = kept.collected(batch, progress, self.keeping) if self.keeping and batch.covered == progress.read else None
        if rows is None:
            return self._read_again(batch)
        counts = Counter(row["fate"] for row in rows)
        if rows:
            self._keep(batch, rows)
        return Found(read=progress.read, reread=False, **{fate_: counts[fate_] for fate_ in fate.KEPT})

    def _read_again(self, batch: Batch) -> Found:
        """Read the batch's exact offsets, keep what was not accepted, and count."""
        total, rows = Found(), list[kept.Row]()
        for part in slices(batch):
            found, more = self._read_part(part)
            total = _sum(total, found)
            rows += more
        self._keep(batch, rows)
        return total

    def _read_part(self, part: Batch) -> tuple[Found, list[kept.Row]]:
        spec = self.run.spec
        all_of_it, counted = Observation(), Observation()
        records = source.exactly(self.run.spark, spec, self.run.settings, part)
        judged = fate.judged(records.observe(all_of_it, F.count(F.lit(1)).alias("read")), spec)
        resolved = fate.resolved(judged, lambda: fate.judged(records, spec), spec, part.late_before_ms)
        resolved = resolved.observe(counted, *fate.resolved_counts(spec))
        rows = resolved.where(F.col("fate").isin(*fate.KEPT)).select(
            "kafka.partition", "kafka.offset", F.col("kafka.timestamp").alias("kafka_timestamp"),
            F.col(spec.topic.event_time).alias("event_time"), "kafka.raw.key", "kafka.raw.value", "fate", "malformed",
        ).toArrow()
        return Found(**counted.get | all_of_it.get), rows.to_pylist()

    def _keep(self, batch: Batch, rows: list[kept.Row]) -> None:
        quarantined, late = [], []
        ahead = self.run.spec.topic.max_ahead
        for row in rows:
            kind, reason = row.pop("fate"), row.pop("malformed")
            common = self._where(batch) | {"topic": self.run.spec.topic.name} | row
            if kind == "late":
                step = self.run.spec.steps[self.run.spec.first_stateful].kind
                late.append(common | {"watermark_missed": moment(batch.late_before_ms * 1000), "step": step})
            else:
                by = row["event_time"] - row["kafka_timestamp"] if reason is None else None
                why = reason or f"event time is {by} past the Kafka timestamp; at most {ahead} is allowed"
                quarantined.append(common | {"kind": kind, "reason": why})
        ops.replace(self.run.paths.root, "quarantine", quarantined, **self._key(batch))
        ops.replace(self.run.paths.root, "late", late, **self._key(batch))

    def _key(self, batch: Batch) -> dict[str, str | int]:
        return {"pipeline": self.run.spec.name, "generation": self.run.identity.generation, "batch_id": batch.id}

    def _where(self, batch: Batch) -> dict[str, Any]:
        return {**self._key(batch), "run_id": self.run.run_id}


def slices(batch: Batch, most: int = SLICE) -> Iterator[Batch]:
    """The batch in parts of at most about `most` offsets, each partition cut at the same shares."""
    parts = max(1, -(-batch.covered // most))
    cuts = [
        {p: batch.start.get(p, 0) + (end - batch.start.get(p, 0)) * n // parts for p, end in batch.end.items()}
        for n in range(parts + 1)
    ]
    for start, end in pairwise(cuts):
        yield batch._replace(start=start, end=end)


def _sum(a: Found, b: Found) -> Found:
    first = min((us for us in (a.first_event_us, b.first_event_us) if us is not None), default=None)
    last = max((us for us in (a.last_event_us, b.last_event_us) if us is not None), default=None)
    counts = {name: getattr(a, name) + getattr(b, name) for name in ("read", *fate.RESOLVED)}
    return Found(**counts, first_event_us=first, last_event_us=last)


def _span(progress: Progress | None, found: Found | None) -> tuple[int | None, int | None]:
    if progress is None:
        return (found.first_event_us, found.last_event_us) if found else (None, None)
    seen = progress.observed.get("entered", {})
    return seen.get("first_event_us"), seen.get("last_event_us")
