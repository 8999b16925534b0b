"""Finds records with an event time far in the future, so that they do not reach the watermark.

One such record would move the watermark into the future. Then Spark would drop all later records of
all producers as late.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as F

from spark_jobs.spec.duration import interval
from spark_jobs.spec.inputs import Topics
from spark_jobs.values.numbering import BITS


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
