"""The windows of an Aggregate, over the event time, aligned to the epoch in UTC.

Their Spark code: steps/aggregate.py.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.duration import Duration, interval, positive
from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.sql import Expression
from spark_jobs.values.spans import MICROSECOND, Span, Times, floor


def _needed(positions: Span, size: timedelta, slide: timedelta) -> Span:
    """The event times of all windows whose last instant is within `positions`."""
    first = floor(positions.start - size, slide) + slide + size  # the first end after the start
    last = floor(positions.end - size, slide) + size  # the last end that is not after the end
    return Span(first - size, last) if first <= last else Span(positions.start, positions.start)


class Tumbling(Model):
    """Windows of one size without overlap: every event is in one window. Spark's window(time,
    size).
    """

    kind: Literal["tumbling"] = "tumbling"
    size: Duration = Described(strict=False)
    """the length of a window"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        positive("size", self.size)
        return self

    def last_end(self, at: datetime) -> datetime:
        """The end of the last window that contains an event of this time.

        >>> from datetime import UTC
        >>> str(Tumbling(size="1 hour").last_end(datetime(2026, 1, 1, 10, 40, tzinfo=UTC)))
        '2026-01-01 11:00:00+00:00'
        """
        return floor(at, self.size) + self.size

    def needed(self, positions: Span) -> Span:
        """The event times of all windows whose last instant is within `positions`."""
        return _needed(positions, self.size, self.size)

    def touched(self, times: Times) -> Times:
        """The positions of all windows that contain one of these event times, and of no other."""
        return times.of_windows(self.size, self.size)

    @property
    def first_end_after(self) -> timedelta:
        """The most time from an event to the end of the first window that contains it."""
        return self.size

    def first_timely(self, watermark: datetime) -> datetime:
        """The first event time whose windows have all not ended at the watermark."""
        return floor(watermark, self.size)

    def __str__(self) -> str:
        return interval(self.size)


class Sliding(Model):
    """Windows of one size that begin every `slide`. An event is in several windows, and can be
    late for some of them.

    Spark's window(time, size, slide).
    """

    kind: Literal["sliding"] = "sliding"
    size: Duration = Described(strict=False)
    """the length of a window"""
    slide: Duration = Described(strict=False)
    """the time between the starts of two windows"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        positive("size", self.size)
        positive("slide", self.slide)
        if self.slide >= self.size:
            refuse(
                "slide",
                str(self.slide),
                f"windows of {interval(self.size)} would not overlap",
                "Make slide less than size, or use Tumbling",
            )
        return self

    def last_end(self, at: datetime) -> datetime:
        """The end of the last window that contains an event of this time.

        >>> from datetime import UTC
        >>> window = Sliding(size="1 hour", slide="20 minutes")
        >>> str(window.last_end(datetime(2026, 1, 1, 10, 50, tzinfo=UTC)))
        '2026-01-01 11:40:00+00:00'
        """
        return floor(at, self.slide) + self.size

    def needed(self, positions: Span) -> Span:
        """The event times of all windows whose last instant is within `positions`."""
        return _needed(positions, self.size, self.slide)

    def touched(self, times: Times) -> Times:
        """The positions of all windows that contain one of these event times, and of no other."""
        return times.of_windows(self.size, self.slide)

    @property
    def first_end_after(self) -> timedelta:
        """The most time from an event to the end of the first window that contains it: windows end
        as often as they begin.
        """
        return self.slide

    def first_timely(self, watermark: datetime) -> datetime:
        """The first event time whose windows have all not ended at the watermark."""
        return floor(watermark - self.size, self.slide) + self.size

    def __str__(self) -> str:
        return f"{interval(self.size)}, beginning every {interval(self.slide)}"


class Session(Model):
    """A window that ends when no event of its key came for the gap. Spark's session_window(time,
    gap).
    """

    kind: Literal["session"] = "session"
    gap: Duration | None = Described(default=None, strict=False)
    """the time without an event that ends the session"""
    gap_sql: Expression | None = None
    """instead of gap: a Spark SQL expression for the gap after each row, an interval or its text"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.gap is None) == (self.gap_sql is None):
            refuse(
                "gap",
                self.gap or self.gap_sql,
                "a session needs exactly one of gap and gap_sql",
                "Give gap='30 minutes', or gap_sql=\"CASE WHEN ... THEN interval '5 minutes' ... "
                'END"',
            )
        if self.gap is not None:
            positive("gap", self.gap)
        return self

    def last_end(self, at: datetime) -> datetime | None:
        """The end of a session whose last event has this time; None with gap_sql."""
        return at + self.gap if self.gap else None

    @property
    def first_end_after(self) -> timedelta | None:
        """The time from an event to the end of its own session; None with gap_sql."""
        return self.gap

    def first_timely(self, watermark: datetime) -> datetime | None:
        """The first event time whose own session has not ended then; None with gap_sql."""
        return watermark - self.gap + MICROSECOND if self.gap else None

    def unranged(self, longest: timedelta | None) -> str | None:
        """Why no range of sessions can be computed, if none is longer than `longest`; None if one
        can.
        """
        if longest is None:
            return (
                "a late record can join sessions over any cut of the axis, and only you know how "
                "long a session can become: declare ranges=Ranges(context=...), the longest time "
                "from a session's start to its end"
            )
        if self.gap is not None and longest < self.gap:
            return (
                f"no session is shorter than the gap of {interval(self.gap)}, and "
                f"ranges.context, the longest one, is {interval(longest)}"
            )
        return None

    def needed(self, positions: Span, longest: timedelta) -> Span:
        """The event times of all sessions whose last instant is within `positions`, of all that
        overlap one of them in the table, and of as many around that one which is longer than
        `longest` is seen to be so.
        """
        # Of a session that goes on where the reading begins, the first record that is read is at
        # most a gap behind that; its rest is then still too long. No gap is longer than a session.
        reach = longest + (self.gap or longest) + MICROSECOND
        return positions.widened(reach, reach)

    def touched(self, times: Times, longest: timedelta) -> Times:
        """The positions of all sessions that an event of these times can be in, and of those that
        it can join: one that ends where the event is becomes a part of the event's own.
        """
        return times.widened(MICROSECOND, longest - MICROSECOND)

    def __str__(self) -> str:
        return f"session with a gap of {interval(self.gap) if self.gap else self.gap_sql}"


Window = Annotated[Tumbling | Sliding | Session, Described(discriminator="kind")]
