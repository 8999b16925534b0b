"""Late rule: which event times are late, by the newest one before them and a watermark delay.

All times are microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

from spark_jobs.spec.analysis import lateness
from spark_jobs.values.spans import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline

MILLISECOND: Final = 1_000
FIRST: Final = -(2**62)
"""Before every time."""
Timely = Callable[[int], int]
"""Newest event time that the watermark follows -> the first event time that is not late."""
NICE: Final = (
    "10 minutes", "30 minutes", "1 hour", "2 hours", "4 hours", "8 hours",
    "12 hours", "1 day", "2 days", "3 days", "7 days",
)  # fmt: skip
"""Delays that are proposed, as a spec has them."""


def micros(at: datetime | timedelta) -> int:
    """Of a time since 1970, or of a duration."""
    return (at if isinstance(at, timedelta) else at - EPOCH) // MICROSECOND


def watermark(newest: int, delay: timedelta) -> int:
    """As Spark takes it: of whole milliseconds, and none before 1970."""
    return max(0, newest // MILLISECOND * MILLISECOND - micros(delay))


def of_rows(delay: timedelta) -> Timely:
    """Of a step that drops each row at or before the watermark."""
    return lambda newest: watermark(newest, delay) + 1


def of_spec(spec: Pipeline, delay: timedelta) -> Timely | None:
    """Of the pipeline's first stateful step; None if no time tells which records are late."""
    if lateness.first_timely(spec, EPOCH) is None:
        return None

    @cache
    def first_timely(newest: int) -> int:
        try:
            at = lateness.first_timely(spec, EPOCH + watermark(newest, delay) * MICROSECOND)
        except OverflowError:
            at = None
        return FIRST if at is None else micros(at)

    return first_timely
