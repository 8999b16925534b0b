"""Rows: what a query of a run reads and writes, planned by what its checkpoint has now."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.run import Run
from spark_jobs.dataflow import dataflow
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.slice_notes import KeyNotes, SliceNotes
from spark_jobs.decode.slices import SlicePolicy
from spark_jobs.registry.fingerprint.topic import new_fields
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.run_outcome import waits
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec.analysis.lateness import late_for_certain
from spark_jobs.spec.reader_options import tasks
from spark_jobs.steps.timers import Timers


class Flow:
    """The way of a run's records, for one query after the other."""

    def __init__(self, run: Run, audit: Audit, topic: SourceState, timers: Timers) -> None:
        self._run = run
        self._audit = audit
        self._topic = topic
        self._timers = timers

    def done(self) -> Positions:
        """From where the next batch reads; nothing before the first batch."""
        return self._run.checkpoint.done()

    def rows(self, until: Positions | None, *, in_jvm: bool) -> tuple[DataFrame, SliceNotes]:
        """The rows of a query that ends at these offsets, or where Kafka's records end now; and
        what its tasks note. `in_jvm` says whether the JVM may decode.
        """
        run, capture = self._run, self._capture_policy()
        keys = None if run.spec.is_archive else KeyNotes(run.spark)
        notes = SliceNotes(run.spark, self._slice_policy(capture), keys)
        self._audit.begin(capture, self._timers, notes)
        each = waits(self._topic, self.done())
        records = source_of(run.spec, run.settings, each, until).stream(run.spark)
        # Those that are still to come: any would leave all records to Python.
        done, noted = self.done(), read_failing(run.target.failing).reasons
        failing = {place: noted[place] for place in noted if not done.passed(place)}
        flow = dataflow(
            records,
            run.spec,
            run.settings,
            run.inputs,
            capture,
            failing=failing,
            notes=notes,
            in_jvm=in_jvm,
        )
        return flow.output(run.paths.root, self._timers, run.identity.topic_id), notes

    def _capture_policy(self) -> CapturePolicy:
        """A record behind the committed watermark is late, one ahead of the first batch's clock
        premature.

        The source's tasks share the byte budget of a batch.
        """
        checkpoint = self._run.checkpoint
        committed, planned = checkpoint.committed(), checkpoint.planned()
        watermark_ms = checkpoint.batch(committed[-1]).watermark_ms if committed else 0
        clock_ms = int(time.time() * 1000)
        if planned[-1:] != committed[-1:]:  # that batch is run again, by the clock that it had
            clock_ms = min(clock_ms, checkpoint.batch(planned[-1]).clock_ms)
        spec = self._run.spec
        readers = tasks(spec.reader_options, len(self._topic.latest), len(spec.inputs))
        return CapturePolicy.of(watermark_ms, readers, clock_ms)

    def _slice_policy(self, capture: CapturePolicy) -> SlicePolicy:
        late_ms = late_for_certain(self._run.spec, capture.late_before_ms)
        left = sum(waits(self._topic, self.done()).values())
        return SlicePolicy.of(left, late_ms, capture.clock_ms)


def claim_table(run: Run, audit: Audit, rows: DataFrame) -> None:
    """Create the table, or verify that it takes these rows.

    Then store the identity, and the version after which checks begin. Not before: a change of
    the spec that the table refuses can be taken back. A new checkpoint's identity is stored
    first: a table of a generation that no checkpoint has would lock the next run out.
    """
    table = run.target.table
    made = read_identity(run.paths)
    if made is None:
        _store(run, run.identity)
    newer = new_fields(made.fingerprint, run.identity.fingerprint) if made else ()
    made_for = run.spec, run.identity.generation
    version = table.ensure(rows.schema, *made_for, newer, run.lease)
    table_id = run.identity.table_id or table.identifier()
    identity = run.identity.model_copy(update={"table_id": table_id})
    if read_identity(run.paths) != identity:
        _store(run, identity)
    audit.check_after(version)


def _store(run: Run, identity: Identity) -> None:
    path = run.paths.identity
    identity.over(path).put(path, run.lease)
