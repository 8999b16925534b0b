"""Clock: which field is the event time, and how far out of order the sample's event times are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final, NamedTuple

from spark_jobs.draft.epoch import UNITS
from spark_jobs.draft.fields import Drafted, nearly_always
from spark_jobs.spec.duration import approximate

DELAYS: Final = tuple(
    timedelta(minutes=minutes)
    for minutes in (10, 30, 60, 120, 240, 480, 720, 1440, 2880, 4320, 10080)
)
NICE: Final = (
    "10 minutes", "30 minutes", "1 hour", "2 hours", "4 hours", "8 hours",
    "12 hours", "1 day", "2 days", "3 days", "7 days",
)  # fmt: skip
"""The same, as a spec has them."""


class Disorder(NamedTuple):
    """How far behind the newest event time records arrive."""

    behind: tuple[timedelta, ...]
    """Of each record, sorted."""

    def share(self, part: float) -> timedelta:
        """Behind by at most so much is this part of the records."""
        last = len(self.behind) - 1
        return (
            self.behind[min(last, math.ceil(part * len(self.behind)) - 1)]
            if self.behind
            else timedelta()
        )

    def late(self, delay: timedelta) -> int:
        """Records of the sample that would be late, if each came in a batch of its own."""
        return sum(each > delay for each in self.behind)

    def __str__(self) -> str:
        half, most, all_ = (approximate(self.share(part)) for part in (0.5, 0.99, 1))
        return f"half of the records by {half}, 99 % by {most}, all by {all_} at most"

    @property
    def delay(self) -> str:
        """The smallest of NICE with which at most one record of a thousand is late."""
        few = len(self.behind) // 1000
        fitting = (n for n, each in enumerate(DELAYS) if self.late(each) <= few)
        return NICE[next(fitting, len(NICE) - 1)]


def event_time(fields: Sequence[Drafted], stamps: Sequence[int | None]) -> Drafted | None:
    """Of the times that almost every record has the one that is nearest to when records arrived;
    None without one.
    """
    known = [each for each in stamps if each is not None]
    times = [each for each in fields if each.field.type == "timestamp"]
    candidates = [each for each in times if nearly_always(each)]
    if not candidates:
        return None
    middle = median(known) if known else 0
    return min(candidates, key=lambda each: abs(median(_read(each) or [0.0]) - middle))


def disorder(times_ms: Sequence[float]) -> Disorder:
    """Of event times in the order of their arrival."""
    newest, behind = -math.inf, []
    for each in times_ms:
        newest = max(newest, each)
        behind.append(timedelta(milliseconds=newest - each))
    return Disorder(tuple(sorted(behind)))


def milliseconds(value: object, format_: str | None) -> float:
    """Since 1970."""
    if isinstance(value, datetime):
        return value.timestamp() * 1000
    if isinstance(value, str) and format_ in UNITS:
        return float(value) * UNITS[format_]
    if isinstance(value, str):
        read = datetime.fromisoformat(value.replace("t", "T").replace("z", "Z"))
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000
    assert isinstance(value, int | float)
    return value * UNITS[format_ or "ms"]


def _read(of: Drafted) -> list[float]:
    format_ = str(of.field.format) if of.field.format else None
    found = []
    for value in of.leaf.values:
        with suppress(ValueError, AssertionError):
            found.append(milliseconds(value, format_))
    return found
