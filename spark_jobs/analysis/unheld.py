"""Unheld: the times in a topic's fields that a form of GroupState cannot hold.

pandas counts nanoseconds in 64 bits: from 1677 to 2262. And Spark takes what code stores through a
calendar that has no 5th to 14th of October 1582: it stores the 10th as the 15th (measured on Spark
4.2.0). A record with such a time is malformed for a pipeline whose GroupState it would reach. The
code could not get it, and every run would fail on it; or its state would say another day.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from spark_jobs.spans.span import EPOCH
from spark_jobs.spec import GroupState
from spark_jobs.spec.origin import Origin, Origins
from spark_jobs.values.gap import Gap, Unheld

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline


FIRST: Final = datetime(1677, 9, 21, 0, 12, 43, 145225, UTC)
LAST: Final = datetime(2262, 4, 11, 23, 47, 16, 854775, UTC)
"""The first and the last microsecond of pandas."""
NO_JULIAN: Final = Gap(
    datetime(1582, 10, 5, tzinfo=UTC), datetime(1582, 10, 14, 23, 59, 59, 999999, UTC)
)
BEYOND: Final = (
    Gap(datetime.min.replace(tzinfo=UTC), FIRST.replace(microsecond=145224)),
    Gap(LAST.replace(microsecond=854776), datetime.max.replace(tzinfo=UTC)),
)
_JULIAN: Final = "Spark's state has no times from 1582-10-05 to 1582-10-14 for a GroupState of form"
_PANDAS: Final = "there are times from 1677-09-21 to 2262-04-11 alone for a GroupState of form"
GAPS: Final = {
    ("row", "timestamp"): ((NO_JULIAN,), _JULIAN),
    ("row", "date"): ((NO_JULIAN,), _JULIAN),
    ("pandas", "timestamp"): (BEYOND, _PANDAS),
    ("pandas", "timestamp_ntz"): (BEYOND, _PANDAS),
    ("pandas", "date"): ((NO_JULIAN,), _JULIAN),
    ("apply", "timestamp"): (BEYOND, _PANDAS),
    ("apply", "timestamp_ntz"): (BEYOND, _PANDAS),
    ("apply", "date"): ((NO_JULIAN,), _JULIAN),
}
"""Form of GroupState and type of the field -> what it cannot hold, and the words for it. Buckets
have Arrow's times: every one that a record can have.
"""


def unheld(spec: Pipeline) -> tuple[Unheld, ...]:
    """Of the fields that reach a GroupState as they are in the record.

    Of the event time only what is far in the past, and that only where no record is late by it: one
    far in the future is premature.
    """
    return tuple(_but_ahead(each, spec) for each in _unheld(spec) if not _is_late(each, spec))


def _is_late(limit: Unheld, spec: Pipeline) -> bool:
    return limit.field == spec.topic.event_time and late_if_far(spec)


def _but_ahead(limit: Unheld, spec: Pipeline) -> Unheld:
    if limit.field != spec.topic.event_time:
        return limit
    return limit._replace(gaps=tuple(gap for gap in limit.gaps if gap.last < EPOCH))


def late_if_far(spec: Pipeline) -> bool:
    """Whether a record is late by an event time that is far in the past."""
    judged = spec.entry is not None and spec.entry.late_after is not None
    return judged and spec.watermark_delay is not None


def _unheld(spec: Pipeline) -> Iterator[Unheld]:
    types = {field.name: field.type for field in spec.topic.fields}
    origins: Origins = {name: (Origin(name, "identity"),) for name in types}
    conditions, as_decoded = tuple[str, ...](), True
    for step in spec.steps:
        if isinstance(step, GroupState):
            for name, of in origins.items():
                gaps, why = GAPS.get((step.form, types.get(name, "")), ((), ""))
                if gaps and of == (Origin(name, "identity"),):
                    yield Unheld(name, gaps, f"{why} {step.form!r}", conditions)
        as_decoded = as_decoded and step.keeps_rows
        if step.condition is not None and as_decoded:
            conditions = (*conditions, step.condition)
        origins = step.origins_after(origins, None)
