"""Lateness: which records are late for certain, told from their event time and the watermark alone.

Whether any other record is late, only Spark's expression of the step says (steps/chain.py is_late).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from spark_jobs.spec import Pipeline
from spark_jobs.spec.columns import Origin, Origins
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.values.gap import Unheld
from spark_jobs.values.spans import EPOCH


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


def first_timely(spec: Pipeline, watermark: datetime) -> datetime | None:
    """Behind this watermark each record that enters the first stateful step with an event time
    before this one is late, and no other; None if there is no such time.
    """
    if spec.watermark_delay is None or spec.entry is None:
        return None
    if mode_facts(spec.output_mode).keeps_all_state:
        return None
    return spec.entry.first_timely(watermark)


def keeps_time(spec: Pipeline) -> bool:
    """Whether each record enters the first stateful step with the event time that it came with."""
    time, known = spec.inputs.event_time, (Origin(spec.inputs.event_time, "identity"),)
    return all(
        step.origins_after({time: known}, time).get(time) == known for step in spec.before_state
    )


def unheld(spec: Pipeline) -> tuple[Unheld, ...]:
    """Of the fields that reach a GroupState as they are in the record.

    Of the event time only what is far in the past, and that only where no record is late by it: one
    far in the future is premature.
    """
    late = spec.inputs.event_time if late_if_far(spec) else None
    return tuple(_but_ahead(each, spec) for each in _unheld(spec) if each.field != late)


def _but_ahead(limit: Unheld, spec: Pipeline) -> Unheld:
    if limit.field != spec.inputs.event_time:
        return limit
    return limit._replace(gaps=tuple(gap for gap in limit.gaps if gap.last < EPOCH))


def late_if_far(spec: Pipeline) -> bool:
    """Whether a record is late by an event time that is far in the past."""
    judged = spec.entry is not None and spec.entry.late_after is not None
    return judged and spec.watermark_delay is not None


def _unheld(spec: Pipeline) -> Iterator[Unheld]:
    types = spec.inputs.types
    origins: Origins = {name: (Origin(name, "identity"),) for name in types}
    conditions, as_decoded = tuple[str, ...](), True
    for step in spec.steps:
        for name, of in origins.items():
            gaps, why = step.unheld(types.get(name, ""))
            if gaps and of == (Origin(name, "identity"),):
                yield Unheld(name, gaps, why, conditions)
        as_decoded = as_decoded and step.keeps_rows
        if step.condition is not None and as_decoded:
            conditions = (*conditions, step.condition)
        origins = step.origins_after(origins, None)
