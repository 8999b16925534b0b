"""Span: a half-open range of event time, in UTC with microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

MICROSECOND: Final = timedelta(microseconds=1)
"""The precision of Spark's timestamps."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST: Final = datetime(1700, 1, 1, tzinfo=UTC)
LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Between these are the times that ranges have. delta-rs's queries compare nanoseconds, of which
there are some 292 years on both sides of 1970: for a zero time of Go, which is of the year 1, they
fail.
"""
MOST: Final = 64
"""Spans of one repair: each is a part of the SQL condition of its commit."""


class Span(NamedTuple):
    """The times from `start` on and before `end`. Nothing, if `end` is not after `start`."""

    start: datetime
    end: datetime

    @property
    def empty(self) -> bool:
        return self.end <= self.start

    def overlaps(self, other: Span) -> bool:
        """Whether a time is in both.

        >>> at = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
        >>> Span(at[0], at[1]).overlaps(Span(at[1], at[2]))
        False
        """
        return max(self.start, other.start) < min(self.end, other.end)

    def within(self, other: Span) -> Span:
        """The times that are in both."""
        return Span(max(self.start, other.start), min(self.end, other.end))

    def widened(self, before: timedelta, after: timedelta) -> Span:
        """With this much more at both ends, as far as there are dates."""
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        return Span(
            self.start - min(before, self.start - first), self.end + min(after, last - self.end)
        )

    def of_windows(self, size: timedelta, slide: timedelta) -> Span:
        """The positions of all windows of this size that contain one of these times, if one begins
        every `slide`.
        """
        start = floor(self.start - size, slide) + size
        return Span(start, floor(self.end - MICROSECOND, slide) + size)

    def later(self, by: timedelta) -> Span:
        """The same end, and a start that is later by this much."""
        return Span(self.start + by, self.end)

    def cut(self, end: datetime) -> Span:
        """Without the times at `end` and after it."""
        return Span(self.start, min(self.end, end))

    def __str__(self) -> str:
        """For a reader: the day of the end is left out where it is that of the start.

        >>> str(Span(datetime(2026, 1, 1, 8, tzinfo=UTC), datetime(2026, 1, 1, 10, tzinfo=UTC)))
        '2026-01-01 08:00 to 10:00'
        """
        if self.end == self.start + MICROSECOND:
            return _text(self.start)
        same_day = self.start.date() == self.end.date()
        return f"{_text(self.start)} to {_text(self.end, date=not same_day)}"


EVER: Final = (Span(FIRST, LAST),)
"""All times that ranges have."""


def joined(spans: Iterable[Span], most: int = MOST) -> tuple[Span, ...]:
    """The same times in sorted spans of which no two touch; `most` at most, so that the times
    between the closest ones may be added.

    >>> at = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 9)]
    >>> len(joined([Span(at[1], at[2]), Span(at[0], at[1]), Span(at[3], at[3])]))
    1
    """
    found: list[Span] = []
    for span in sorted(span for span in spans if not span.empty):
        if found and span.start <= found[-1].end:
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    if not found:
        return ()
    # Those with the smallest time before them are joined with the one there.
    closest = sorted(range(1, len(found)), key=lambda n: found[n].start - found[n - 1].end)
    begins = sorted([0, *closest[max(0, len(found) - most) :]])
    ends = [*begins[1:], len(found)]
    return tuple(
        Span(found[first].start, found[behind - 1].end)
        for first, behind in zip(begins, ends, strict=True)
    )


def floor(at: datetime, step: timedelta) -> datetime:
    """The last multiple of `step` since 1970 that is not after the time."""
    return at - (at - EPOCH) % step


def _text(at: datetime, *, date: bool = True) -> str:
    seconds = at.second or at.microsecond
    clock = f"{at:%H:%M}" if not seconds else f"{at:%H:%M:%S}"
    if at.microsecond:
        clock += f".{at:%f}".rstrip("0")
    return f"{at:%F} {clock}" if date else clock
