"""Second read: reads a committed batch's exact offsets from Kafka again, classified by the same
dataflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.audit.balance import RecordCounts
from spark_jobs.audit.rejected import RejectedRecord
from spark_jobs.classify.classifier import has_outcome, resolve_outcomes, resolved_counts
from spark_jobs.classify.outcome import COLUMN, REJECTED, RESOLVED
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.run import Run
from spark_jobs.source import kafka_source

SLICE = 500_000
"""Offsets per read: limits the driver's memory for a batch of any size."""


def read_again(run: Run, batch: Batch) -> tuple[RecordCounts, list[RejectedRecord]]:
    """The counts of the batch's records by outcome, and the rejected records."""
    counts = RecordCounts()
    rejected = list[RejectedRecord]()
    for part in slices(batch):
        part_counts, part_rejected = _read(run, part)
        counts = _sum(counts, part_counts)
        rejected += part_rejected
    return counts, rejected


def _read(run: Run, part: Batch) -> tuple[RecordCounts, list[RejectedRecord]]:
    spec = run.spec
    read = Observation()
    counted = Observation()
    records = kafka_source.read_batch(run.spark, spec, run.settings, part)

    def classified(given: DataFrame) -> Dataflow:
        return dataflow(given, spec, clock_ms=part.clock_ms or None)

    outcomes = resolve_outcomes(
        classified(records.observe(read, F.count(F.lit(1)).alias("read"))).classified,
        lambda: classified(records).stateful_input,
        spec,
        part.late_before_ms,
    )
    rows = (
        outcomes.observe(counted, *resolved_counts(spec))
        .where(has_outcome(REJECTED))
        .select(
            "kafka.partition",
            "kafka.offset",
            F.col("kafka.timestamp").alias("kafka_timestamp"),
            F.col(spec.topic.event_time).alias("event_time"),
            "kafka.raw.key",
            "kafka.raw.value",
            F.col(COLUMN).alias("outcome"),
            "malformed",
        )
        .toArrow()
    )
    return RecordCounts(**counted.get | read.get), [
        RejectedRecord.of_row(row) for row in rows.to_pylist()
    ]


def slices(batch: Batch, most: int = SLICE) -> Iterator[Batch]:
    """The batch in parts of about `most` offsets or fewer.

    All partitions are cut at the same shares.
    """
    parts = max(1, -(-batch.covered // most))
    cuts = [
        {
            p: batch.start.get(p, 0) + (end - batch.start.get(p, 0)) * n // parts
            for p, end in batch.end.items()
        }
        for n in range(parts + 1)
    ]
    for start, end in pairwise(cuts):
        yield batch._replace(start=start, end=end)


def _sum(a: RecordCounts, b: RecordCounts) -> RecordCounts:
    first = min((us for us in (a.first_event_us, b.first_event_us) if us is not None), default=None)
    last = max((us for us in (a.last_event_us, b.last_event_us) if us is not None), default=None)
    counts = {name: getattr(a, name) + getattr(b, name) for name in ("read", *RESOLVED)}
    return RecordCounts(**counts, first_event_us=first, last_event_us=last)
