"""Unheld: the times in a topic's fields that a step cannot hold (spec/steps/group_forms.py).

A record with such a time is malformed for a pipeline whose GroupState it would reach. The
code could not get it, and every run would fail on it; or its state would say another day.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.spec.origin import Origin, Origins
from spark_jobs.values.gap import Unheld
from spark_jobs.values.spans.span import EPOCH

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline


def unheld(spec: Pipeline) -> tuple[Unheld, ...]:
    """Of the fields that reach a GroupState as they are in the record.

    Of the event time only what is far in the past, and that only where no record is late by it: one
    far in the future is premature.
    """
    return tuple(_but_ahead(each, spec) for each in _unheld(spec) if not _is_late(each, spec))


def _is_late(limit: Unheld, spec: Pipeline) -> bool:
    return limit.field == spec.inputs.event_time and late_if_far(spec)


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
