"""Capture: observes the rejected records while their batch runs, so that the audit need not read
Kafka again for them.

The raw filter keeps the bytes of all records that may be rejected. When the outcomes are known, the
query observes the records that are rejected. The driver gets them with the batch's progress, and
rejected/rejected_record.py reads them there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.decode.raw_filter import BUDGET, CapturePolicy
from spark_jobs.spec import Pipeline
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.beside.matched import unmatched_counts
from spark_jobs.steps.by_rules import keeps_some, rule_counts
from spark_jobs.steps.chain import is_late
from spark_jobs.steps.classify import (
    QUARANTINED,
    Outcome,
    element_counts,
    has_outcome,
    outcome_counts,
    stateful_input_metrics,
)
from spark_jobs.values.own_columns import ELEMENT, KAFKA, MALFORMED, OUTCOME, own

CLASSIFIED_SEEN, ENTERED_SEEN = "fate", "entered"
"""The names under which classified records and the stateful input are observed."""
KEPT, SUSPECT = own("kept"), own("suspect")
"""Columns that are there while they are observed."""
MOST_KEPT = 1_000
"""Records that one task keeps where it has every record's bytes."""


def seen(name: str, number: int) -> str:
    """Under which the records of one of several topics are observed.

    >>> seen(ENTERED_SEEN, 0), seen(ENTERED_SEEN, 2)
    ('entered', 'entered_2')
    """
    return f"{name}_{number}" if number else name


# The input of the aggregates is a column of its own: Spark interprets an expression within them for
# every row.
def observe_classified(
    classified: DataFrame, spec: Pipeline, policy: CapturePolicy, number: int = 0
) -> DataFrame:
    """The same rows, of the topic with this number, with the bytes of those alone that may be late.

    Observes under "fate": outcome_counts; kept array<struct>: the raw malformed and premature
    records; and rules as rule_counts has them, if the topic has rules.
    """
    topic = Topics([spec.inputs[number]])
    record = _small(_record(spec, F.col(OUTCOME), F.col(MALFORMED)), topic, spec)
    rejected = F.when(has_outcome(QUARANTINED), record)
    counted = [*outcome_counts(), *element_counts(topic), _kept(topic, spec)]
    if topic[0].rules:
        counted.append(rule_counts(topic, [spec.inputs.rules[number]]))
    rows = (
        classified.withColumn(KEPT, rejected)
        .observe(seen(CLASSIFIED_SEEN, number), *counted)
        .drop(KEPT)
    )
    if not keeps_some(topic, spec):
        return rows
    behind = F.col(spec.inputs.event_time) <= F.timestamp_millis(F.lit(policy.late_before_ms))
    raw = F.when(behind, F.col("kafka.raw"))
    return rows.withColumn(KAFKA, F.col(KAFKA).withField("raw", raw))


def _kept(topic: Topics, spec: Pipeline) -> Column:
    """The aggregate of KEPT. Where the decoder passes every record's bytes on, since a rule or a
    step judges behind it, a task keeps MOST_KEPT; a batch with more is read again.
    """
    if not keeps_some(topic, spec):
        return F.collect_list(KEPT).alias("kept")
    return F.min_by(KEPT, f"{KEPT}.offset", MOST_KEPT).alias("kept")


def _small(record: Column, topic: Topics, spec: Pipeline) -> Column:
    """Without those that do not fit then."""
    if not keeps_some(topic, spec):
        return record
    parts = [F.col("kafka.raw.key"), F.col("kafka.raw.value"), F.to_json("kafka.raw.headers")]
    size = sum((F.coalesce(F.octet_length(part), F.lit(0)) for part in parts), F.lit(0))
    return F.when(record.isNotNull() & (size <= BUDGET // MOST_KEPT), record)


def observe_stateful_input(
    stateful_input: DataFrame, spec: Pipeline, policy: CapturePolicy, number: int = 0
) -> DataFrame:
    """The same rows, of the topic with this number.

    Observes under "entered": stateful_input_metrics, unmatched_counts, late bigint (by `policy`),
    and kept array<struct>: the raw late records.
    """
    # Late by the watermark of the query's first batch. Of a batch with another one the audit uses
    # neither these counts nor these records (runs/account/audited_batch.py, captured).
    late = _record(spec, F.lit(Outcome.LATE.value), F.lit(None).cast("string"))
    rows = stateful_input.withColumn(SUSPECT, is_late(spec, policy.late_before_ms))
    topic = Topics([spec.inputs[number]])
    rows = rows.withColumn(KEPT, F.when(F.col(SUSPECT), _small(late, topic, spec)))
    counted = (F.count_if(F.col(SUSPECT)).alias("late"), _kept(topic, spec))
    metrics = [*stateful_input_metrics(spec), *unmatched_counts(spec)]
    return rows.observe(seen(ENTERED_SEEN, number), *metrics, *counted).drop(SUSPECT, KEPT)


def _record(spec: Pipeline, outcome: Column, malformed: Column) -> Column:
    """A record as rejected/rejected_record.py reads it; null if its raw bytes were not captured."""
    parts = F.struct(
        "kafka.partition",
        "kafka.offset",
        F.unix_micros("kafka.timestamp").alias("kafka_us"),
        F.col("kafka.millis").alias("kafka_millis"),
        F.unix_micros(F.col(spec.inputs.event_time)).alias("event_us"),
        "kafka.raw.key",
        "kafka.raw.value",
        "kafka.raw.headers",
        outcome.alias("fate"),
        malformed.alias("malformed"),
        *([f"{KAFKA}.{ELEMENT}"] if spec.inputs.spread else []),
    )
    return F.when(F.col("kafka.raw").isNotNull(), parts)
