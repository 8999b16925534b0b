"""Second read: reads a committed batch's exact offsets from Kafka again, classified by the same
dataflow, and stores the rejected records and the slices.

The slices of a batch are stored all or none. They leave no offset out that Kafka still has: where
the sum of their records is what the batch read, the offsets between two of them have none. If the
notes of a task were lost, none is stored. repair/offsets/holes.py says what may be at offsets
without a slice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pkgutil import resolve_name
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, functions as F

from spark_jobs.audit.balance import RecordCounts
from spark_jobs.audit.batch_offsets import visible
from spark_jobs.audit.rejected_record import RejectedRecord
from spark_jobs.audit.rejected_store import keep, keep_on_executors, key
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.pins import inputs_of
from spark_jobs.checkpoint.run import Run
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.decode.slices import NO_TIMES, Ids, Slice, SlicePolicy, summed
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.lateness import late_for_certain
from spark_jobs.spec.inputs import Topics
from spark_jobs.spec.reader_options import tasks
from spark_jobs.steps.by_rules import has_rules, rule_counts
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
from spark_jobs.values.own_columns import ELEMENT, KAFKA, MALFORMED, OUTCOME


def keep_slices(run: Run, batch: Batch, part: Batch, slices: list[Slice], read: int) -> Ids | None:
    """The ids of schemas in the part of the batch that was read; None if a note was lost. Store
    the slices of it, in place of what an earlier try stored:
    that stays, if there are none now. `read` is how many records Spark read.
    """
    whole = stretched(slices, part, read)
    if not whole:
        return None
    where = key(run, batch)
    rows = _table({**where, "run_id": run.run_id}, whole)
    ops_tables.replace(run.paths.root, "slices", rows, ops_tables.equals(where), run.lease)
    return summed(each.schemas for each in whole)


def stretched(slices: Iterable[Slice], part: Batch, read: int) -> list[Slice]:
    """Each up to the next one, so that they are all offsets of the part; none if records are
    missing.

    >>> first = Slice(0, 12, 18, 2, NO_TIMES, NO_TIMES, 0, NO_TIMES)
    >>> from spark_jobs.source.positions import Positions
    >>> part = Batch(7, Positions({0: 10, 1: 3}), Positions({0: 30, 1: 5}), 0, 0)
    >>> found = stretched([first, first._replace(first_offset=25, last_offset=26)], part, 4)
    >>> [(each.partition, each.first_offset, each.last_offset, each.records) for each in found]
    [(0, 10, 24, 2), (0, 25, 29, 2), (1, 3, 4, 0)]
    """
    noted = sorted(slices)
    if sum(each.records for each in noted) != read:
        return []
    of = {place: [*group] for place, group in groupby(noted, lambda each: each.partition)}
    return [
        each
        for partition, [(first, stop)] in sorted(part.parts.items())
        for each in _of_partition(partition, of.get(partition, []), first, stop)
    ]


def _of_partition(partition: int, noted: list[Slice], start: int, end: int) -> Iterator[Slice]:
    if start >= end:
        return
    if not noted:
        noted = [Slice(partition, start, end - 1, 0, NO_TIMES, NO_TIMES, 0, NO_TIMES)]
    ends = [each.first_offset for each in noted[1:]] + [end]
    for each, stop in zip(noted, ends, strict=True):
        yield each._replace(first_offset=start, last_offset=stop - 1)
        start = stop


def _table(same: dict[str, str | int], slices: list[Slice]) -> pa.Table:
    schema = SCHEMAS["slices"]
    columns = {name: [value] * len(slices) for name, value in same.items()} | {
        "partition": [each.partition for each in slices],
        "first_offset": [each.first_offset for each in slices],
        "last_offset": [each.last_offset for each in slices],
        "records": [each.records for each in slices],
        "first_event_time": [each.times.first if each.times else None for each in slices],
        "last_event_time": [each.times.last if each.times else None for each in slices],
        "late": [each.late for each in slices],
        "first_late_time": [each.late_times.first if each.late else None for each in slices],
        "last_late_time": [each.late_times.last if each.late else None for each in slices],
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema)


BYTES: Final = "spark_jobs.audit.values_kept"
"""What puts bytes to the rejected records of values with many. Loaded by name: most have one."""
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
    capture = _few(run, there)
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


def _few(run: Run, part: Batch) -> CapturePolicy:
    """Captures the raw bytes of rejected records while they may pass the driver."""
    readers = tasks(run.spec.reader_options, len(part.end), len(run.spec.inputs))
    return CapturePolicy(part.late_before_ms, COLLECTED_BYTES // max(1, readers), part.clock_ms)


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


def rejected_columns(inputs: Topics) -> list[Column]:
    """Of classified records: one for each field of RejectedRecord."""
    return [
        F.col("kafka.partition"),
        F.col("kafka.offset"),
        F.col("kafka.timestamp").alias("kafka_timestamp"),
        F.col("kafka.millis").alias("kafka_millis"),
        # As a number: Arrow gives Python no time that Python has not.
        F.unix_micros(inputs.event_time).alias("event_time"),
        F.col("kafka.raw.key"),
        F.col("kafka.raw.value"),
        # Those that were not read go to Python as no list (decode/decoder.py).
        F.col("kafka.raw.headers")
        if inputs.reads_headers
        else F.lit(None).cast("string").alias("headers"),
        F.col(OUTCOME).alias("outcome"),
        F.col(MALFORMED).alias("malformed"),
        *([F.col(f"{KAFKA}.{ELEMENT}")] if inputs.spread else []),
    ]
