"""Span: a half-open range of event time, in UTC with microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeVar

from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.times import iso

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

    def without(self, taken: Iterable[Span]) -> list[Span]:
        """Its times that are in none of these, ascending.

        >>> at = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 9)]
        >>> [str(each) for each in Span(at[0], at[3]).without([Span(at[1], at[2])])]
        ['2026-01-01 00:00 to 2026-01-02 00:00', '2026-01-03 00:00 to 2026-01-09 00:00']
        """
        left, start, taken = list[Span](), self.start, [*taken]
        for each in joined(taken, len(taken)):
            left.append(Span(start, min(each.start, self.end)))
            start = max(start, each.end)
        return [each for each in (*left, Span(start, self.end)) if not each.empty]

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


def in_brief(spans: Sequence[Span], most: int = 5) -> str:
    """For a reader: the first ones, and how many more there are."""
    more = f"; and {len(spans) - most} more" if len(spans) > most else ""
    return "; ".join(map(str, spans[:most])) + more


def floor(at: datetime, step: timedelta) -> datetime:
    """The last multiple of `step` since 1970 that is not after the time."""
    return at - (at - EPOCH) % step


def _text(at: datetime, *, date: bool = True) -> str:
    seconds = at.second or at.microsecond
    clock = f"{at:%H:%M}" if not seconds else f"{at:%H:%M:%S}"
    if at.microsecond:
        clock += f".{at:%f}".rstrip("0")
    return f"{at:%F} {clock}" if date else clock


def any_of(conditions: Iterable[str]) -> str:
    """SQL; empty of none. It is a tree of few levels: delta-rs and Spark go down by one
    call a level, and a chain of some thousand ORs ends the process.

    >>> any_of(["a", "b", "c"])
    'a OR (b OR c)'
    >>> any_of(["a"])
    'a'
    """
    every = list(conditions)
    if len(every) <= 1:
        return every[0] if every else ""
    middle = len(every) // 2
    return f"{_part(every[:middle])} OR {_part(every[middle:])}"


def _part(conditions: list[str]) -> str:
    """AND binds closer than OR, so one condition needs no brackets."""
    return conditions[0] if len(conditions) == 1 else f"({any_of(conditions)})"


class Position(NamedTuple):
    """The column that places a row."""

    column: str
    edge: Literal["instant", "end"] = "instant"
    """instant: the column is the position; end: it is a window's end, and the position is the
    window's last instant (Spark's window_time).
    """

    def sql(self, spans: Iterable[Span]) -> str:
        """The SQL condition for rows within the spans, of which there is one at least, for Spark
        and for delta-rs.

        delta-rs compares a timestamp with plain text; it refuses TIMESTAMP '...' and CAST. Its
        queries take a name without quotes for one in small letters.

        >>> from datetime import UTC
        >>> day = Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
        >>> Position("window_end", "end").sql([day])
        "(`window_end` > '2026-01-01T00:00:00Z' AND `window_end` <= '2026-01-02T00:00:00Z')"
        """
        lower, upper = (">=", "<") if self.edge == "instant" else (">", "<=")
        column = f"`{self.column}`"
        return any_of(
            f"({column} {lower} {_literal(span.start)} AND {column} {upper} {_literal(span.end)})"
            for span in spans
        )

    def sql_among(self, values: Iterable[datetime]) -> str:
        """The SQL condition for rows whose column has one of these values, of which there is one
        at least.

        >>> from datetime import UTC
        >>> Position("window_end", "end").sql_among([datetime(2026, 1, 2, tzinfo=UTC)])
        "`window_end` IN ('2026-01-02T00:00:00Z')"
        """
        return f"`{self.column}` IN ({', '.join(map(_literal, values))})"


def _literal(at: datetime) -> str:
    return f"'{iso(at)}Z'"


def microseconds(at: datetime) -> int:
    """Since 1970, as delta-rs casts a timestamp to an integer."""
    return (at - EPOCH) // MICROSECOND


EARLIEST: Final = microseconds(datetime.min.replace(tzinfo=UTC))
LATEST: Final = microseconds(datetime.max.replace(tzinfo=UTC))


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

    @classmethod
    def of_inputs(cls, spans: Sequence[SpanSql], partition: str) -> SpanSql:
        """Of each input its own, by the number of a record's partition (values/numbering.py)."""
        first, *others = spans
        for number, each in enumerate(others, 1):
            condition = f"{partition} >= {numbered_in(number, 0)}"
            pairs = zip(each, first, strict=True)
            first = cls(*(f"CASE WHEN {condition} THEN {new} ELSE {old} END" for new, old in pairs))
        return first

    def widened(self, before: timedelta, after: timedelta) -> SpanSql:
        """With this much more at both ends, as far as there are dates."""
        return SpanSql(
            f"greatest({self.start} - {before // MICROSECOND}, {EARLIEST})",
            f"least({self.end} + {after // MICROSECOND}, {LATEST})",
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
    ahead = (-EARLIEST // length + 1) * length
    return f"(({time} + {ahead}) / {length} * {length} - {ahead})"


Times = TypeVar("Times", Span, SpanSql)
"""Times of a record, or the expressions for them."""
