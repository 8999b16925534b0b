"""Query: starts a run's streaming queries, and follows and audits each until it ends."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.added_topics import fit
from spark_jobs.decode.jvm import UNSURE
from spark_jobs.errors import ExpressionFailed
from spark_jobs.runs.failures.failed import set_failing_aside, translate_error
from spark_jobs.runs.new_keys import tell
from spark_jobs.runs.resume.same_state import of_the_table
from spark_jobs.runs.rows import Flow, claim_table
from spark_jobs.runs.watch.follower import COUNTED, Follower, StateRows, adds_up
from spark_jobs.runs.watch.progress_log import ProgressLog
from spark_jobs.runs.watch.stall import PULSE, StallWatch
from spark_jobs.sink import writer
from spark_jobs.source.kafka_reader import ends_early
from spark_jobs.steps.timers import Timers

if TYPE_CHECKING:
    from spark_jobs.checkpoint.run import Run
    from spark_jobs.decode.slice_notes import SliceNotes
    from spark_jobs.errors import SluiceError
    from spark_jobs.messages.part import NewKey
    from spark_jobs.runs.account.audit import Audit
    from spark_jobs.runs.watch.limits import RunLimits
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Positions

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2
REPEATED = "spark_jobs.audit.repeated:Repeated"
"""What looks for lost executors: on one machine none is lost."""
SILENT = "spark_jobs.runs.lag:silent_topics"
"""What finds silent topics, where `silent_after` asks for them."""
BY_PYTHON = (
    "%s: batch %d: Python decodes what is left of this run, since the JVM's decoder is not sure of "
    "the record at partition %s offset %s"
)


class Query:
    """The queries of one run: one for the new offsets, then one for each no-data batch
    that is due.
    """

    def __init__(self, run: Run, audit: Audit, topic: SourceState, limits: RunLimits) -> None:
        self._run = run
        self._audit = audit
        self._topic = topic
        self._latest = topic.latest
        self._limits = limits
        self._timers = Timers(run.spark)
        self._flow = Flow(run, audit, topic, self._timers)
        self._closed = False
        self.query_run_id = ""
        """Spark's runId of the last query; empty if none was needed."""
        self.new_keys: tuple[NewKey, ...] = ()
        """Keys of the records that no field names, and nobody was told of."""
        self._notes: SliceNotes | None = None
        self._asking = [resolve_name(module) for module in run.spec.inputs.asks]
        self._looked = bool(self._asking) and ends_early(run.spark)
        """Whether a query ends where somebody has looked for ids of schemas."""
        self._in_jvm = True
        """Whether the JVM may decode."""
        self._progress_log = ProgressLog(run, topic.latest, self._timers)

    def run(self) -> None:
        """Run to the end or to a limit.

        A requested stop takes effect between two batches, or before the first.
        """
        PULSE.querying = True
        try:
            self._run_all()
        finally:
            PULSE.querying = False

    def _run_all(self) -> None:
        run = self._run
        names = [topic.name for topic in run.spec.inputs]
        fit(run.checkpoint, names, self._topic.begins, run.lease, run.spec.name)
        if self._looked and (again := of_the_table(run)) and not self._limits.asked:
            self._consume(again)
            self._limits.allow_no_data_batch()
        if self._waiting() and not self._limits.asked and not self._limits.reached:
            for registry in self._asking:
                registry.look(run.spec, run.settings, run.spark, self._topic, self._flow.done())
            self._consume()
        while not self._limits.reached and not self._limits.asked and (due := self._due()):
            self._closed = self._closed or due.by_silence
            batch = no_data_batch.write(self._run.checkpoint, due, datetime.now(UTC))
            LOG.info("%s: batch %d without data: %s", self._run.spec.name, batch, due.reason)
            self._limits.allow_no_data_batch()
            self._consume()
        if self._limits.asked and self._waiting():
            self._limits.record_early_stop()

    def _waiting(self, ends: Positions | None = None) -> bool:
        committed, planned = self._run.checkpoint.committed(), self._run.checkpoint.planned()
        if not committed or planned[-1] != committed[-1]:
            return True
        return self._run.checkpoint.done().before(ends or self._latest)

    def _due(self) -> no_data_batch.NoDataBatch | None:
        run = self._run
        closes = run.spec.close_after is not None
        newest = run.source.newest(self._latest.partitions) if closes else None
        rows, ran = self._audit.cursor.state.rows, self._limits.no_data_batch_ran
        clock = no_data_batch.Clock(datetime.now(UTC), newest, rows, ran, self._closed)
        clock = clock._replace(
            topics=dict(self._audit.cursor.newest), silent=self._silent(clock.now)
        )
        if no_data_batch.is_ahead(run.spec, clock):  # silent only if nothing has come since
            ends = run.source.state().latest
            clock = clock._replace(unread=self._waiting(ends))
        if said := no_data_batch.clock_ahead(run.spec, clock):
            LOG.warning("%s: %s", run.spec.name, said)
        return no_data_batch.due(run.spec, run.checkpoint, clock)

    def _silent(self, now: datetime) -> frozenset[str]:
        run = self._run
        if run.spec.silent_after is None:
            return frozenset()
        found: frozenset[str] = resolve_name(SILENT)(
            run.spec, run.source, run.source.state(), self._flow.done(), now
        )
        return found

    def _consume(self, until: Positions | None = None) -> None:
        """A query that fails on single records runs again without them."""
        if until is None and (self._looked or self._run.spec.publish_at):
            until = self._latest
        while (failed := self._failure_of_query(until)) is not None and not self._limits.asked:
            audited = self._audit.cursor.audited
            if record := self._unsure_of(failed):
                batch = self._run.checkpoint.planned()[-1]
                self._in_jvm = False
                LOG.warning(BY_PYTHON, self._run.spec.name, batch, *record)
            else:
                batch = set_failing_aside(self._run, failed, audited)
            self._timers.close_batch(batch)  # what fired in the failed try does not count

    def _failure_of_query(self, until: Positions | None) -> StreamingQueryException | None:
        rows, self._notes = self._flow.rows(until, in_jvm=self._in_jvm)
        state_rows = self._state_rows()
        claim_table(self._run, self._audit, rows)
        query = writer.start(
            rows,
            self._run,
            lambda batch: self._limits.admit(self._run.checkpoint.batch(batch)),
            self._timers,
            lambda: self._audit.cursor.audited,
        )
        self.query_run_id = str(query.runId)
        local = self._run.settings.local
        again = None if local else resolve_name(REPEATED)(self._run.spark, str(query.runId))
        follower = Follower(query, again, state_rows)
        watch = StallWatch(self._run, query)
        failed: StreamingQueryException | None = None
        try:
            while not query.awaitTermination(POLL_SECONDS) and not self._limits.over:  # type: ignore[arg-type]  # takes fractions
                self._keep_up(follower, ended=False)
                watch.raise_if_stalled()
        except BaseException as error:
            # The lease is released next, and no query may write without it. One that does not stop
            # ends with this process; what went wrong is told first.
            with suppress(Exception):
                query.stop()
            if not isinstance(error, StreamingQueryException):
                raise
            lost = self._timers.init_errors.take()
            problem = translate_error(error, self._run.spec.name, lost)
            if not (isinstance(problem, ExpressionFailed) or self._unsure_of(error)):
                self._account_before(problem, follower)
                raise problem from error
            failed = error
        query.stop()
        self._run.lease.confirm()  # without the lease, the planned batch may belong to the next run
        if failed is None:  # one that failed has run, and its rows may be in the table
            no_data_batch.remove(self._run.checkpoint, self._run.lease.confirm)
        self._keep_up(follower, ended=True)
        if self._notes and self._notes.keys and failed is None:
            run = self._run
            self.new_keys += tell(run.spec, run.paths, self._notes.unnamed(), run.lease)
        return failed

    def _unsure_of(self, error: Exception) -> tuple[str, str] | None:
        found = UNSURE.search(str(error)) if self._in_jvm else None
        return found and (self._run.spec.inputs.shown(int(found[1])), found[2])

    def _state_rows(self) -> StateRows | None:
        """None: Spark counts them. In local mode no task is counted twice."""
        run, checkpoint = self._run, self._run.checkpoint
        first = not checkpoint.committed() and not checkpoint.planned()
        ours = first and run.settings.local and adds_up(run.spec)
        run.spark.conf.set(COUNTED, str(not ours).lower())
        return StateRows() if ours else None

    def _account_before(self, problem: SluiceError, follower: Follower) -> None:
        """Only if the pipeline must be corrected: a retry comes soon, and accounts for the batches
        itself.
        """
        if problem.retry:
            return
        with suppress(Exception):  # what failed the query is told first
            self._run.lease.confirm()
            before = None
            while before != (before := self._audit.cursor.audited):
                self._keep_up(follower, ended=False)

    def _keep_up(self, follower: Follower, *, ended: bool) -> None:
        progress = follower.progress()
        self._progress_log.show(progress)
        self._audit.catch_up(progress, ended=ended)
