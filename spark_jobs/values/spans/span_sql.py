"""Span as SQL: what a query engine computes of a record's times, as span.py does it of one record.

Both have the same methods, so a step says once what a record touches. A page adds a million records
up so, and none of them comes to Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from spark_jobs.values.spans.any_of import any_of
from spark_jobs.values.spans.span import EPOCH, MICROSECOND, Span


def microseconds(at: datetime) -> int:
    """Since 1970, as delta-rs casts a timestamp to an integer."""
    return (at - EPOCH) // MICROSECOND


FIRST: Final = microseconds(datetime.min.replace(tzinfo=UTC))
LAST: Final = microseconds(datetime.max.replace(tzinfo=UTC))


class SpanSql(NamedTuple):
    """SQL expressions of DataFusion, in microseconds since 1970: the times from `start` on and
    before `end`.
    """

    start: str
    end: str

    @classmethod
    def at(cls, time: str) -> SpanSql:
        """The one microsecond."""
        return cls(time, f"({time} + 1)")

    def widened(self, before: timedelta, after: timedelta) -> SpanSql:
        """With this much more at both ends, as far as there are dates."""
        return SpanSql(
            f"greatest({self.start} - {before // MICROSECOND}, {FIRST})",
            f"least({self.end} + {after // MICROSECOND}, {LAST})",
        )

    def of_windows(self, size: timedelta, slide: timedelta) -> SpanSql:
        """The positions of all windows of this size that contain one of these times, if one begins
        every `slide`.
        """
        length = size // MICROSECOND
        return SpanSql(
            f"({floor_sql(f'{self.start} - {length}', slide)} + {length})",
            f"({floor_sql(f'{self.end} - 1', slide)} + {length})",
        )

    def later(self, by: timedelta) -> SpanSql:
        """The same end, and a start that is later by this much."""
        return SpanSql(f"({self.start} + {by // MICROSECOND})", self.end)

    def cut(self, end: str) -> SpanSql:
        """Without the times at `end` and after it; all of them where that is null."""
        return SpanSql(self.start, f"least({self.end}, {end})")

    def where(self, condition: str, else_at: str) -> SpanSql:
        """Where the condition does not hold: no time, at `else_at`."""
        return SpanSql(*(f"CASE WHEN {condition} THEN {each} ELSE {else_at} END" for each in self))

    def inside(self, spans: Iterable[Span]) -> str:
        """The condition for times all of which are in one of these spans, one at least."""
        return any_of(
            f"({self.start} >= {microseconds(span.start)} AND "
            f"{self.end} <= {microseconds(span.end)})"
            for span in spans
        )


def floor_sql(time: str, step: timedelta) -> str:
    """The last multiple of `step` since 1970 that is not after the time.

    SQL's division rounds towards 0, so it is made of a time after 0.

    >>> floor_sql("t", timedelta(days=400_000))
    '((t + 69120000000000000) / 34560000000000000 * 34560000000000000 - 69120000000000000)'
    """
    length = step // MICROSECOND
    ahead = (-FIRST // length + 1) * length
    return f"(({time} + {ahead}) / {length} * {length} - {ahead})"


Times = TypeVar("Times", Span, SpanSql)
"""Times of a record, or the expressions for them."""
