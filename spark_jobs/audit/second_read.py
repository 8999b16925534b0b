"""Second read: reads a committed batch's exact offsets from Kafka again, classified by the same
dataflow, and stores the rejected records.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.audit.balance import RecordCounts
from spark_jobs.audit.keep import keep, keep_on_executors
from spark_jobs.audit.rejected import RejectedRecord
from spark_jobs.checkpoint.failing import read_failing
from spark_jobs.classify.classifier import has_outcome, resolve_outcomes, resolved_counts
from spark_jobs.classify.outcome import COLUMN, REJECTED
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.run import Run
from spark_jobs.source import kafka_source
from spark_jobs.source.topic_state import first_offsets

TOO_LARGE = "bigger than spark.driver.maxResultSize"
"""What Spark says of a result that the driver does not collect (TaskSetManager)."""


def read_again(run: Run, batch: Batch) -> RecordCounts:
    """The counts of the batch's records by outcome. Its rejected records are stored.

    `gone` counts the offsets that retention has removed since the batch was committed.
    """
    there = batch.since(first_offsets(run.settings, run.spec.topic.name, batch.end))
    gone = batch.covered - there.covered
    if not there.covered:
        return RecordCounts(gone=gone)
    read, counted = Observation(), Observation()
    rejected = _rejected(run, there, read, counted)
    try:
        few = collected(rejected)
    except Exception as error:
        if TOO_LARGE not in str(error):
            raise
        read, counted = Observation(), Observation()
        _rejected(run, there, read, counted).write.format("noop").mode("overwrite").save()
        stored = keep_on_executors(run, batch, rejected)
    else:
        keep(run, batch, few)
        stored = {}
    return RecordCounts(**counted.get | read.get | stored, gone=gone)


def collected(rejected: DataFrame) -> list[RejectedRecord]:
    """The records, in the driver's memory. Spark refuses to collect what is TOO_LARGE."""
    return [RejectedRecord.of_row(row) for row in rejected.toArrow().to_pylist()]


def _rejected(run: Run, part: Batch, read: Observation, counted: Observation) -> DataFrame:
    """The part's rejected records: a column for each field of RejectedRecord.

    Its first action observes the counts of all of the part's records.
    """
    spec = run.spec
    records = kafka_source.read_batch(run.spark, spec, run.settings, part)
    failing = read_failing(run.target.failing).reasons

    def classified(given: DataFrame) -> Dataflow:
        return dataflow(given, spec, clock_ms=part.clock_ms or None, failing=failing)

    outcomes = resolve_outcomes(
        classified(records.observe(read, F.count(F.lit(1)).alias("read"))).classified,
        lambda: classified(records).stateful_input,
        spec,
        part.late_before_ms,
    )
    return (
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
    )
