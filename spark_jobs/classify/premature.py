"""Guard: keep records with a clock far in the future away from the watermark.

One event time in the future would move the watermark there, and make every later record of every producer late.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.topic import Topic


def is_premature(topic: Topic) -> Column:
    """True where the event time lies more than max_ahead past the record's Kafka timestamp; null for malformed records."""
    ahead = F.expr(f"interval {interval(topic.max_ahead)}")
    return F.col(topic.event_time) > F.col("kafka.timestamp") + ahead
