"""Classify: gives each record its outcome. The drain and the audit use the same expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Pipeline
from spark_jobs.spec.duration import interval
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps import by_rules
from spark_jobs.steps.chain import is_late
from spark_jobs.values.numbering import BITS
from spark_jobs.values.own_columns import ELEMENT, EMPTY, KAFKA, MALFORMED, OUTCOME, RULES


def is_premature(inputs: Topics, clock: Column) -> Column:
    """True if the event time is more than max_ahead after the record's Kafka timestamp, or after
    the batch's clock; null for malformed records.

    `clock` timestamp: when the batch was planned. Kafka timestamps are the producer's own unless
    the topic has LogAppendTime, and no record is newer than the batch that reads it. By the clock
    alone, where the Kafka timestamp is no time and so null.
    """
    return F.col(inputs.event_time) > F.least(F.col("kafka.timestamp"), clock) + _ahead(inputs)


def _ahead(inputs: Topics) -> Column:
    """Of records of several topics, each topic's own."""
    number = F.shiftright("kafka.partition", BITS)
    first, *others = (F.expr(f"interval {interval(each.max_ahead)}") for each in inputs)
    for n, ahead in enumerate(others, 1):
        first = F.when(number == n, ahead).otherwise(first)
    return first


class Outcome(StrEnum):
    """One outcome.

    Its text is a value of the columns OUTCOME and ops.quarantine.kind, and the name of an observed
    metric.
    """

    MALFORMED = "malformed"
    """It cannot be decoded, an expression of the spec fails on it (checkpoint/notes/failing.py), or
    a rule refuses it (by_rules.py).

    It goes to ops.quarantine, with the reason.
    """
    PREMATURE = "premature"
    """Its event time is more than the topic's max_ahead after its Kafka timestamp, or after the
    batch's clock.

    It goes to ops.quarantine.
    """
    GOOD = "good"
    """Neither malformed nor premature.

    Not a last outcome: in the steps it becomes filtered, late or accepted.
    """
    FILTERED = "filtered"
    """A Transform before the first stateful step removed it, or a rule. It is counted, but not
    stored.
    """
    LATE = "late"
    """The first stateful step drops it because of the watermark. It goes to ops.late."""
    ACCEPTED = "accepted"
    """The first stateful step processed it, as a new row or as a duplicate."""


CLASSIFIED = (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.GOOD)
"""The outcomes that depend on the record alone, before any step."""
QUARANTINED = (Outcome.MALFORMED, Outcome.PREMATURE)
REJECTED = (*QUARANTINED, Outcome.LATE)
"""The outcomes whose records are stored byte for byte."""
RESOLVED = (*REJECTED, Outcome.ACCEPTED)
"""The last outcomes that a second read counts. All other records were filtered."""


def classify(
    decoded: DataFrame, inputs: Topics, clock: Column, *, refusing: bool = True
) -> DataFrame:
    """The decoded records, with OUTCOME: one of CLASSIFIED. `clock` as is_premature has it. One
    that a rule refuses fails the query; it is good if not `refusing`.
    """
    outcome = F.when(F.col(MALFORMED).isNotNull(), _text(Outcome.MALFORMED))
    if refusing and any(rule.on_failure == "refuse" for each in inputs for rule in each.rules):
        outcome = outcome.when(by_rules.fails_one(inputs, "refuse"), by_rules.ended())
    outcome = outcome.when(is_premature(inputs, clock), _text(Outcome.PREMATURE)).otherwise(
        _text(Outcome.GOOD)
    )
    return decoded.withColumn(OUTCOME, outcome)


def good_records(classified: DataFrame, inputs: Topics) -> DataFrame:
    """The good records, without tombstones that the topic drops. Columns: the decoded fields, and
    kafka.
    """
    good = _is(Outcome.GOOD) & _kept(inputs)
    return classified.where(good).drop(MALFORMED, OUTCOME, RULES)


def _kept(inputs: Topics) -> Column:
    """False for what a rule drops, and for a tombstone that the topic drops: the one record that is
    good and has no event time. As any that enters no step it counts as filtered.
    """
    kept = ~by_rules.fails_one(inputs, "drop")
    return kept & F.col(inputs.event_time).isNotNull() if inputs.drops_tombstones else kept


def has_outcome(outcomes: Iterable[Outcome]) -> Column:
    """boolean: whether the record has one of these outcomes."""
    return F.col(OUTCOME).isin(*(outcome.value for outcome in outcomes))


def outcome_counts() -> list[Column]:
    """Aggregates over classified records, bigint: those of read_counts, and one for each of
    CLASSIFIED.
    """
    return [*read_counts(), *_counts(CLASSIFIED)]


def read_counts() -> list[Column]:
    """Aggregates over records as they were read, bigint: read, and of them undated, those whose
    Kafka timestamp is no time.
    """
    return [F.count(F.lit(1)).alias("read"), F.count(F.col("kafka.millis")).alias("undated")]


def element_counts(inputs: Topics) -> list[Column]:
    """Aggregates over classified records, bigint, where a value has many: its elements, the values
    whose first they are, empty and refused values.
    """
    if not inputs.spread:
        return []
    number, bad = F.col(f"{KAFKA}.{ELEMENT}"), _is(Outcome.MALFORMED)
    return [
        F.count_if(number >= 0).alias("elements"),
        F.count_if(number == 0).alias("with_elements"),
        F.count_if((number == EMPTY) | (number.isNull() & ~bad)).alias("empty"),
        F.count_if(number.isNull() & bad).alias("refused"),
    ]


def topic_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over records as they were read, bigint: for each of several topics `read_<n>`."""
    return [F.count_if(of).alias(f"read_{n}") for n, of in _topics(spec)]


def resolved_topic_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over resolved records, bigint: for each of several topics one for each of
    RESOLVED, and last_event_us as resolved_counts has it; `<name>_<n>`.
    """
    moved = has_outcome((Outcome.LATE, Outcome.ACCEPTED))
    found = list[Column]()
    for n, of in _topics(spec):
        found += [F.count_if(of & _is(each)).alias(f"{each.value}_{n}") for each in RESOLVED]
        newest = F.max(F.when(of & moved, F.col(spec.inputs.event_time)))
        found.append(F.unix_micros(newest).alias(f"last_event_us_{n}"))
    return found


def _topics(spec: Pipeline) -> list[tuple[int, Column]]:
    """Of several topics the number, and whether a record is of it."""
    several = len(spec.inputs) if spec.inputs.several else 0
    number = F.shiftright("kafka.partition", BITS)
    return [(n, number == n) for n in range(several)]


def stateful_input_metrics(spec: Pipeline) -> list[Column]:
    """Aggregates over the stateful input, bigint: rows; first_event_us and last_event_us, which
    moves the watermark.
    """
    return [F.count(F.lit(1)).alias("rows"), *_event_range(F.col(spec.inputs.event_time))]


def resolve_outcomes(
    classified: DataFrame,
    stateful_input: Callable[[], DataFrame],
    spec: Pipeline,
    late_before_ms: int,
) -> DataFrame:
    """The records of a finished batch.

    Columns: event time, kafka, MALFORMED, and OUTCOME string, one of RESOLVED.

    Leaves out filtered records. `stateful_input` builds the stateful input of the same records a
    second time. It is called only if a Transform is not a condition: such a Transform gets good
    records only, so the query must read them twice.
    """
    columns = (spec.inputs.event_time, KAFKA, MALFORMED, OUTCOME)
    at_state = F.when(is_late(spec, late_before_ms), _text(Outcome.LATE)).otherwise(
        _text(Outcome.ACCEPTED)
    )
    good = _is(Outcome.GOOD)
    conditions = [step.condition for step in spec.before_state]
    if all(conditions):
        reached = _kept(spec.inputs)
        for where in conditions:
            reached = reached & F.coalesce(F.expr(where or ""), F.lit(False))
        outcome = F.when(~good, F.col(OUTCOME)).otherwise(at_state)
        return classified.where(~good | reached).withColumn(OUTCOME, outcome).select(*columns)
    entered = (
        stateful_input()
        .withColumn(MALFORMED, F.lit(None).cast("string"))
        .withColumn(OUTCOME, at_state)
    )
    return classified.where(~good).select(*columns).unionAll(entered.select(*columns))


def resolved_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over resolved records, bigint: one for each of RESOLVED, and first_event_us and
    last_event_us.

    The event times, in microseconds, are those that moved the watermark: of late and accepted
    records.
    """
    moved_watermark = F.when(
        has_outcome((Outcome.LATE, Outcome.ACCEPTED)), F.col(spec.inputs.event_time)
    )
    return [*_counts(RESOLVED), *_event_range(moved_watermark)]


def _counts(outcomes: Iterable[Outcome]) -> list[Column]:
    return [F.count_if(_is(outcome)).alias(outcome.value) for outcome in outcomes]


def _event_range(time: Column) -> list[Column]:
    return [
        F.unix_micros(F.min(time)).alias("first_event_us"),
        F.unix_micros(F.max(time)).alias("last_event_us"),
    ]


def _is(outcome: Outcome) -> Column:
    return F.col(OUTCOME) == outcome.value


def _text(outcome: Outcome) -> Column:
    return F.lit(outcome.value)


def all_good(decoded: DataFrame) -> DataFrame:
    """The decoded records, each with the outcome GOOD: the account counts it as one that entered,
    and so as a row.
    """
    good = F.lit(Outcome.GOOD.value)
    return decoded.withColumn(MALFORMED, F.lit(None).cast("string")).withColumn(OUTCOME, good)


def archive_rows(records: DataFrame, event_time: str, topic_id: str) -> DataFrame:
    """The table's rows, with registry/archive_spec.py's COLUMNS.

    `records` has kafka struct<partition, offset, timestamp, millis, raw>, and the event time, null
    where it does not decode.
    """
    return records.select(
        F.lit(topic_id).alias("topic_id"),
        F.col("kafka.partition"),
        F.col("kafka.offset"),
        F.col("kafka.timestamp").alias("kafka_timestamp"),
        F.col("kafka.millis").alias("kafka_millis"),
        F.col("kafka.raw.key"),
        F.col("kafka.raw.value"),
        F.col("kafka.raw.headers"),
        F.col(event_time).alias("event_time"),
        F.to_date(event_time).alias("event_date"),
    )
