"""Classify: gives each record its outcome. The drain and the audit classify by these same expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.classify.outcome import CLASSIFIED, COLUMN, RESOLVED, Outcome
from spark_jobs.classify.premature import is_premature
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.topic import Topic
from spark_jobs.steps.chain import is_late


def classify(decoded: DataFrame, topic: Topic) -> DataFrame:
    """Decoded records, with fate string: one of CLASSIFIED."""
    outcome = F.when(F.col("malformed").isNotNull(), _text(Outcome.MALFORMED))
    outcome = outcome.when(is_premature(topic), _text(Outcome.PREMATURE)).otherwise(_text(Outcome.GOOD))
    return decoded.withColumn(COLUMN, outcome)


def only_good(classified: DataFrame, topic: Topic) -> DataFrame:
    """The good records: the topic's fields, and kafka."""
    return classified.where(_is(Outcome.GOOD)).select(*topic.columns, "kafka")


def is_one_of(outcomes: Iterable[Outcome]) -> Column:
    """Which of the records have one of these outcomes."""
    return F.col(COLUMN).isin(*(outcome.value for outcome in outcomes))


def counts() -> list[Column]:
    """Aggregates over classified records: read bigint, and one count an outcome."""
    return [F.count(F.lit(1)).alias("read"), *_counts(CLASSIFIED)]


def span(spec: Pipeline) -> list[Column]:
    """Aggregates over the stateful input: rows bigint, and the first and last event time, which moves the watermark, in us."""
    return [F.count(F.lit(1)).alias("rows"), *_span(F.col(spec.topic.event_time))]


def resolved(classified: DataFrame, reached_state: Callable[[], DataFrame], spec: Pipeline, late_before_ms: int) -> DataFrame:
    """Records of a batch that is over: event time, kafka, malformed, and fate string, one of RESOLVED.

    Records that a Transform left out are not among them. `reached_state` makes the stateful input of the same records anew, for
    where one query must read them twice: a Transform other than a condition takes good rows alone.
    """
    late, columns = is_late(spec, late_before_ms), (spec.topic.event_time, "kafka", "malformed", COLUMN)
    at_state = F.when(late, _text(Outcome.LATE)).otherwise(_text(Outcome.ACCEPTED))
    good, conditions = _is(Outcome.GOOD), [step.where for step in spec.before_state]
    if all(conditions):
        reached = F.lit(True)
        for where in conditions:
            reached = reached & F.coalesce(F.expr(where or ""), F.lit(False))
        outcome = F.when(~good, F.col(COLUMN)).otherwise(at_state)
        return classified.where(~good | reached).withColumn(COLUMN, outcome).select(*columns)
    entered = reached_state().withColumn("malformed", F.lit(None).cast("string")).withColumn(COLUMN, at_state)
    return classified.where(~good).select(*columns).unionAll(entered.select(*columns))


def resolved_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over resolved records: one count an outcome, and the span of the event times that moved the watermark."""
    return [*_counts(RESOLVED), *_span(F.when(is_one_of((Outcome.LATE, Outcome.ACCEPTED)), F.col(spec.topic.event_time)))]


def _counts(outcomes: Iterable[Outcome]) -> list[Column]:
    return [F.count_if(_is(outcome)).alias(outcome.value) for outcome in outcomes]


def _span(time: Column) -> list[Column]:
    return [F.unix_micros(F.min(time)).alias("first_event_us"), F.unix_micros(F.max(time)).alias("last_event_us")]


def _is(outcome: Outcome) -> Column:
    return F.col(COLUMN) == outcome.value


def _text(outcome: Outcome) -> Column:
    return F.lit(outcome.value)
