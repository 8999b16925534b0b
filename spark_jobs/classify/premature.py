"""Finds records with an event time far in the future, so that they do not reach the watermark.

One such record would move the watermark into the future. Then Spark would drop all later records of
all producers as late.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.topic import Topic


def is_premature(topic: Topic) -> Column:
    """True if the event time is more than max_ahead after the record's Kafka timestamp; null for
    malformed records.
    """
    ahead = F.expr(f"interval {interval(topic.max_ahead)}")
    return F.col(topic.event_time) > F.col("kafka.timestamp") + ahead
