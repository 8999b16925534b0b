"""Query: one run's streaming query, from the source to the sink, followed and audited until it has ended."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from spark_jobs.checkpoint import Offsets
from spark_jobs.contract.reader_options import tasks
from spark_jobs.kafka import newest_record
from spark_jobs.run import Run
from spark_jobs.stages import fate, kept, no_data_batch, sink, source, table
from spark_jobs.stages.audit import Audit
from spark_jobs.stages.limits import RunLimits
from spark_jobs.stages.progress import Follower
from spark_jobs.stages.repeated import Repeated
from spark_jobs.stages.sieve import Keeping
from spark_jobs.stateful.chain import from_state_on
from spark_jobs.stateful.timers import Timers
from spark_jobs.watch import Watch

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2


class Query:
    """What a run has to run: batches with data as long as there are new offsets, then what is due without."""

    def __init__(self, run: Run, audit: Audit, target: Offsets, limits: RunLimits) -> None:
        self._run, self._audit, self._target, self._limits = run, audit, target, limits
        self._timers = audit.timers = Timers(run.spark)
        self._closed = False
        self._watch = Watch(run, target, self._timers)

    def run(self) -> None:
        """Run to the end or to a limit; where the run is asked to stop, that is between two batches, or before the first."""
        if self._waiting() and not self._limits.asked:
            self._consume()
        while not self._limits.reached and not self._limits.asked and (due := self._due()):
            self._closed = self._closed or due.by_silence
            batch = no_data_batch.write(self._run.checkpoint, due, datetime.now(UTC))
            LOG.info("%s: batch %d without data: %s", self._run.spec.name, batch, due.reason)
            self._limits.allow_no_data_batch()
            self._consume()
        if self._limits.asked and self._waiting():
            self._limits.leave_the_rest()

    def _waiting(self) -> bool:
        """Whether there are offsets to read, or a batch that was planned and not committed."""
        committed, planned = self._run.checkpoint.committed(), self._run.checkpoint.planned()
        if not committed or planned[-1] != committed[-1]:
            return True
        done = self._run.checkpoint.batch(committed[-1]).end
        return any(end > done.get(partition, 0) for partition, end in self._target.items())

    def _due(self) -> no_data_batch.NoDataBatch | None:
        run = self._run
        silent = run.spec.close_after is not None
        newest = newest_record(run.settings, run.spec.topic.name, self._target) if silent else None
        clock = no_data_batch.Clock(datetime.now(UTC), newest, self._audit.cursor.state.rows, self._limits.ticked, self._closed)
        return no_data_batch.due(run.spec, run.checkpoint, clock)

    def _consume(self) -> None:
        rows = self._rows()
        query = sink.start(rows, self._run, self._limits, self._timers)
        follower = Follower(query, None if self._run.settings.local else Repeated(self._run.spark, str(query.runId)))
        try:
            while not query.awaitTermination(POLL_SECONDS) and not self._limits.over:  # type: ignore[arg-type]  # takes fractions
                self._keep_up(follower, ended=False)
        finally:
            query.stop()  # also where the audit failed: the lease is given back next, and no query may write without it
        self._run.lease.confirm()  # or what is planned may be the next run's, which is at work on it
        no_data_batch.remove(self._run.checkpoint)
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

    def _keeping(self) -> Keeping:
        checkpoint = self._run.checkpoint
        committed = checkpoint.committed()
        readers = tasks(self._run.spec.reader_options, len(self._target))
        return Keeping.of(checkpoint.batch(committed[-1]).watermark_ms if committed else 0, readers)

    def _keep_up(self, follower: Follower, *, ended: bool) -> None:
        progress = follower.progress()
        self._watch.show(progress)
        self._audit.catch_up(progress, ended=ended)
