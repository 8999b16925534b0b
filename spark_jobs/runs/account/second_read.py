"""Second read: reads a committed batch's exact offsets from Kafka again, classified by the same
dataflow, and stores the rejected records and the slices: of a batch whose progress was lost, or
whose captured records do not account for it.

Of a batch of a Deduplicate, the keys of its records in Kafka are counted too, without the keys that
the state had before. So the table's rows are held against Kafka and the state; neither knows of the
table.
"""

from __future__ import annotations

from collections import defaultdict
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions as F

from spark_jobs.audit.batch_offsets import visible
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.dataflow import dataflow
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.decode.slices import SlicePolicy
from spark_jobs.rejected.kept_slices import keep_slices
from spark_jobs.rejected.rejected_record import BYTES, RejectedRecord
from spark_jobs.rejected.rejected_store import keep, keep_on_executors, rejected_columns
from spark_jobs.side.pins import inputs_of
from spark_jobs.source.sources import source_of
from spark_jobs.spec.analysis.lateness import late_for_certain
from spark_jobs.spec.reader_options import tasks
from spark_jobs.state.table import Stores, store_columns
from spark_jobs.steps.by_rules import has_rules, rule_counts
from spark_jobs.steps.chain import is_late
from spark_jobs.steps.classify import (
    REJECTED,
    element_counts,
    has_outcome,
    read_counts,
    resolve_outcomes,
    resolved_counts,
    resolved_topic_counts,
    topic_counts,
)
from spark_jobs.storage.root.path_forms import state_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from spark_jobs.checkpoint.run import Run
    from spark_jobs.dataflow import Dataflow
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.spec import Pipeline

COLLECTED_BYTES = 32_000_000
"""Raw bytes of a batch's rejected records that pass the driver. Executors store larger batches'
bytes.
"""


def read_again(run: Run, spec: Pipeline, batch: Batch) -> RecordCounts:
    """The counts of the batch's records by outcome. Its rejected records and its slices are stored.
    `spec`: by which they were read.

    Their `gone` is the number of offsets that retention has removed since the batch was committed.
    """
    there = batch.since(run.source.earliest(batch.end.partitions))
    gone = batch.covered - there.covered
    if not there.covered:
        return RecordCounts(gone=gone)
    read, counted, rejected = Observation(), Observation(), Observation()
    seen = [*element_counts(spec.inputs)]
    if has_rules(spec.inputs):
        seen.append(rule_counts(spec.inputs, spec.inputs.rules))
    classified = (Observation(), seen) if seen else None
    columns = rejected_columns(spec.inputs)
    # Raw bytes of rejected records, while they may pass the driver.
    readers = tasks(run.spec.reader_options, len(there.end), len(run.spec.inputs))
    capture = CapturePolicy(
        there.late_before_ms, COLLECTED_BYTES // max(1, readers), there.clock_ms
    )
    policy = SlicePolicy.of(
        there.covered, late_for_certain(spec, there.late_before_ms), there.clock_ms
    )
    notes = SliceNotes(run.spark, policy)
    few = (
        _outcomes(run, spec, there, read, capture, notes, classified)
        .observe(counted, *resolved_counts(spec), *resolved_topic_counts(spec))
        .where(has_outcome(REJECTED))
        .observe(rejected, F.count_if(F.col("kafka.raw").isNull()).alias("dropped"))
        .where(F.col("kafka.raw").isNotNull())
        .select(*columns)
    )
    records = [RejectedRecord.of_row(row) for row in few.toArrow().to_pylist()]
    bytes_of = resolve_name(BYTES) if spec.inputs.spread else None
    whole = bytes_of.with_bytes(run, spec, records) if bytes_of else records
    if rejected.get["dropped"] or whole is None:
        every = _outcomes(run, spec, there).where(has_outcome(REJECTED)).select(*columns)
        every = bytes_of.joined_bytes(run, spec, there, every) if bytes_of else every
        stored = keep_on_executors(run, spec, batch, every)
    else:
        stored = {"unkept": keep(run, spec, batch, whole)}
    schemas = keep_slices(run, batch, there, notes.take(there, spec.inputs), read.get["read"])
    gaps = there.covered - read.get["read"]
    aborted = visible(run.source, run.spark, there).aborted if gaps else 0
    again = classified[0].get if classified else {}
    counts = counted.get | read.get | stored | again
    topics = {} if gone else _by_topic(counts)
    rules = dict(counts.pop("rules", None) or {})
    known = {name: count for name, count in counts.items() if name in RecordCounts._fields}
    return RecordCounts(
        **known, gone=gone, aborted=aborted, schemas=schemas, topics=topics, rules=rules
    )


def _by_topic(counts: Mapping[str, int | None]) -> dict[int, dict[str, int]]:
    found: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for name, count in counts.items():
        what, _, number = name.rpartition("_")
        if number.isdigit() and count is not None:
            found[int(number)][what] = count
    return dict(found)


def _outcomes(
    run: Run,
    spec: Pipeline,
    part: Batch,
    read: Observation | None = None,
    capture: CapturePolicy | None = None,
    notes: SliceNotes | None = None,
    classified_seen: tuple[Observation, list[Column]] | None = None,
) -> DataFrame:
    """The part's records with their outcomes, as resolve_outcomes has them.

    `read` observes how many there are, `classified_seen` these aggregates of them classified.
    `capture` decides which have raw bytes; all have them without it. `notes` gets their slices.
    """
    records = source_of(spec, run.settings).read(run.spark, part.parts)
    failing = read_failing(run.target.failing).reasons
    inputs = inputs_of(part.id, run.checkpoint, spec, run.settings)

    def classified(given: DataFrame) -> Dataflow:
        return dataflow(
            given,
            spec,
            run.settings,
            inputs,
            capture,
            clock_ms=part.clock_ms or None,
            failing=failing,
            notes=notes,
            observed=False,
        )

    counted = records.observe(read, *read_counts(), *topic_counts(spec)) if read else records
    found = classified(counted).classified
    if classified_seen:
        found = found.observe(classified_seen[0], *classified_seen[1])
    return resolve_outcomes(
        found,
        lambda: classified(records).stateful_input,
        spec,
        part.late_before_ms,
    )


def fresh_keys(run: Run, spec: Pipeline, batch: Batch) -> int | None:
    """None if the first stateful step is no Deduplicate of named columns, or if the state before
    the batch cannot be read.
    """
    keys = spec.entry and spec.entry.distinct_by
    if not keys:
        return None
    if batch.id > 0 and batch.id - 1 not in run.checkpoint.readable():
        return None
    found = _accepted(run, spec, batch).select(*keys).distinct()
    if batch.id == 0:
        return found.count()
    known = _known(run, batch.id - 1)
    same = [found[name].eqNullSafe(known[name]) for name in keys]
    return found.join(known, same, "left_anti").count()


def _accepted(run: Run, spec: Pipeline, batch: Batch) -> DataFrame:
    records = source_of(spec, run.settings).read(run.spark, batch.parts)
    failing = read_failing(run.target.failing).reasons
    inputs = inputs_of(batch.id, run.checkpoint, spec, run.settings)
    entered = dataflow(
        records, spec, run.settings, inputs, clock_ms=batch.clock_ms or None, failing=failing
    )
    return entered.stateful_input.where(~is_late(spec, batch.late_before_ms))


def _known(run: Run, batch: int) -> DataFrame:
    first = sum(each.stateful for each in run.spec.steps) - 1
    rows = Stores(run.spark, state_url(run.target.checkpoint), batch).rows(first)
    keys = (each for each in store_columns(rows, "dedupe", None) if each.role == "key")
    return rows.select(*(each.expression.alias(each.name) for each in keys))
