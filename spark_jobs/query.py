"""Query: one run's streaming query, from the source to the sink, followed and audited until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from spark_jobs.checkpoint import Offsets
from spark_jobs.contract.reader_options import tasks
from spark_jobs.kafka import newest_record
from spark_jobs.run import Run
from spark_jobs.stages import closing, fate, kept, sink, source, table
from spark_jobs.stages.audit import Audit
from spark_jobs.stages.bound import Bound
from spark_jobs.stages.progress import Follower
from spark_jobs.stages.raw_filter import CapturePolicy
from spark_jobs.stages.repeated import Repeated
from spark_jobs.stateful.chain import from_state_on
from spark_jobs.stateful.timers import Timers
from spark_jobs.watch import Watch

POLL_SECONDS = 0.2


class Query:
    """What a run has to run: batches with data as long as there are new offsets, then what is due without."""

    def __init__(self, run: Run, audit: Audit, target: Offsets, bound: Bound, say: Callable[[str], None]) -> None:
        self._run, self._audit, self._target, self._bound, self._say = run, audit, target, bound, say
        self._timers = audit.timers = Timers(run.spark)
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
        run, audit = self._run, self._audit
        audit.keeping = keeping = self._keeping()
        judged = fate.judged(source.follow(run.spark, run.spec, run.settings), run.spec, keeping)
        entered = fate.entered(kept.observe_bad(judged, run.spec), run.spec)
        entered = kept.observe_late(entered, run.spec, keeping)
        rows = from_state_on(entered, run.spec, run.paths.root, self._timers)
        version = table.ensure(run.paths.table, rows.schema, run.spec, run.identity.generation)
        if not run.identity.table_id:
            run.identity.model_copy(update={"table_id": table.identifier(run.paths.table)}).write(run.paths.identity)
        if audit.cursor.judged_table_version is None:
            audit.cursor = audit.cursor.model_copy(update={"judged_table_version": version})
            audit.cursor.write(run.paths.cursor)
        return rows

    def _keeping(self) -> CapturePolicy:
        checkpoint = self._run.checkpoint
        committed = checkpoint.committed()
        readers = tasks(self._run.spec.reader_options, len(self._target))
        return CapturePolicy.of(checkpoint.batch(committed[-1]).watermark_ms if committed else 0, readers)

    def _keep_up(self, follower: Follower, *, ended: bool) -> None:
        progress = follower.progress()
        self._watch.show(progress)
        self._audit.catch_up(progress, ended=ended)
