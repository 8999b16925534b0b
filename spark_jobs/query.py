"""Query: one run's streaming query, from the source to the sink, followed and audited until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from spark_jobs.audit.audit import Audit
from spark_jobs.audit.progress import Follower
from spark_jobs.checkpoint import Offsets
from spark_jobs.contract.reader_options import tasks
from spark_jobs.dataflow import dataflow
from spark_jobs.kafka import newest_record
from spark_jobs.run import Run
from spark_jobs.stages import closing, sink, source, table
from spark_jobs.stages.bound import Bound
from spark_jobs.stages.raw_filter import CapturePolicy
from spark_jobs.stages.repeated import Repeated
from spark_jobs.stateful.timers import Timers
from spark_jobs.watch import Watch

POLL_SECONDS = 0.2


class Query:
    """What a run has to run: batches with data as long as there are new offsets, then what is due without."""

    def __init__(self, run: Run, audit: Audit, target: Offsets, bound: Bound, say: Callable[[str], None]) -> None:
        self._run, self._audit, self._target, self._bound, self._say = run, audit, target, bound, say
        self._timers = Timers(run.spark)
        self._closed = False
        self._watch = Watch(run, target, self._timers, say)

    def run(self) -> None:
        """Run to the end or to the bound; where the run is asked to stop, that is between two batches, or before the first."""
        if self._waiting() and not self._bound.asked:
            self._consume()
        while not self._bound.reached and not self._bound.asked and (due := self._due()):
            self._closed = self._closed or due.by_silence
            batch = closing.plan(self._run.checkpoint, due, datetime.now(UTC))
            self._say(f"{self._run.spec.name}: batch {batch} without data: {due.reason}")
            self._bound.grant()
            self._consume()
        if self._bound.asked and self._waiting():
            self._bound.reached = self._bound.asked

    def _waiting(self) -> bool:
        """Whether there are offsets to read, or a batch that was planned and not committed."""
        committed, planned = self._run.checkpoint.committed(), self._run.checkpoint.planned()
        if not committed or planned[-1] != committed[-1]:
            return True
        done = self._run.checkpoint.batch(committed[-1]).end
        return any(end > done.get(partition, 0) for partition, end in self._target.items())

    def _due(self) -> closing.Closing | None:
        run = self._run
        silent = run.spec.close_after is not None
        newest = newest_record(run.settings, run.spec.topic.name, self._target) if silent else None
        clock = closing.Clock(datetime.now(UTC), newest, self._audit.cursor.state.rows, self._bound.ticked, self._closed)
        return closing.due(run.spec, run.checkpoint, clock)

    def _consume(self) -> None:
        rows = self._rows()
        self._claim_table(rows)
        query = sink.start(rows, self._run, self._bound, self._timers)
        follower = Follower(query, None if self._run.settings.local else Repeated(self._run.spark, str(query.runId)))
        try:
            while not query.awaitTermination(POLL_SECONDS) and not self._bound.over:  # type: ignore[arg-type]  # takes fractions
                self._keep_up(follower, ended=False)
        finally:
            query.stop()  # also where the audit failed: the lease is given back next, and no query may write without it
        self._run.lease.confirm()  # or what is planned may be the next run's, which is at work on it
        closing.unplan(self._run.checkpoint)
        self._keep_up(follower, ended=True)

    def _rows(self) -> DataFrame:
        """What the next query gives to the sink. The audit is told what it captures and counts."""
        run, capture = self._run, self._capture_policy()
        self._audit.begin(capture, self._timers)
        records = source.follow(run.spark, run.spec, run.settings)
        return dataflow(records, run.spec, capture).output(run.paths.root, self._timers)

    def _claim_table(self, rows: DataFrame) -> None:
        """Make the table, or find that it takes these rows. Note in identity and cursor which it is, and where checks begin."""
        run = self._run
        version = table.ensure(run.paths.table, rows.schema, run.spec, run.identity.generation)
        if not run.identity.table_id:
            run.identity.model_copy(update={"table_id": table.identifier(run.paths.table)}).write(run.paths.identity)
        self._audit.judge_after(version)

    def _capture_policy(self) -> CapturePolicy:
        """Late is what the committed watermark is past; a batch's byte budget is shared by the source's tasks."""
        checkpoint = self._run.checkpoint
        committed = checkpoint.committed()
        readers = tasks(self._run.spec.reader_options, len(self._target))
        return CapturePolicy.of(checkpoint.batch(committed[-1]).watermark_ms if committed else 0, readers)

    def _keep_up(self, follower: Follower, *, ended: bool) -> None:
        progress = follower.progress()
        self._watch.show(progress)
        self._audit.catch_up(progress, ended=ended)
