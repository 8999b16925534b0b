"""Lateness: which records are late for certain, told from their event time and the watermark alone.

Whether any other record is late, only Spark's expression of the step says (steps/chain.py is_late).
"""

from __future__ import annotations

from datetime import timedelta

from spark_jobs.spec import Pipeline
from spark_jobs.spec.origin import Origin
from spark_jobs.spec.output_mode import mode_facts


def late_for_certain(spec: Pipeline, late_before_ms: int) -> int | None:
    """The event time, in milliseconds since the epoch, at or before which each good record is late
    or filtered; None if there is none.

    `late_before_ms` is the watermark for late records. A SQL or a function before the first
    stateful step may give a record another event time than Kafka has: then there is none.
    """
    if spec.watermark_delay is None or spec.entry is None or spec.entry.late_after is None:
        return None
    if mode_facts(spec.output_mode).keeps_all_state or not keeps_time(spec):
        return None
    return late_before_ms - spec.entry.late_after // timedelta(milliseconds=1)


def keeps_time(spec: Pipeline) -> bool:
    """Whether each record enters the first stateful step with the event time that it came with."""
    time, known = spec.inputs.event_time, (Origin(spec.inputs.event_time, "identity"),)
    return all(
        step.origins_after({time: known}, time).get(time) == known for step in spec.before_state
    )
