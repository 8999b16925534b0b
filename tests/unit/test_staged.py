"""Which parts of its ranges a repair changes."""

from datetime import UTC, datetime, timedelta

from spark_jobs.repair.compute import staged
from spark_jobs.values.spans import Span

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WEEK = Span(FIRST + HOUR / 2, FIRST + 7 * DAY)
"""It begins within an hour."""


def test_hours_that_differ_are_cut_at_the_ends_of_the_ranges_and_joined():
    hours = [FIRST + n * HOUR for n in (5, 0, 4)]
    assert staged.differing(hours, [WEEK]) == (
        Span(WEEK.start, FIRST + HOUR),
        Span(FIRST + 4 * HOUR, FIRST + 6 * HOUR),
    )


def test_nothing_differs_where_no_hour_does():
    assert staged.differing([], [WEEK]) == ()


def test_of_too_many_hours_their_days_are_told_and_of_too_many_days_all(monkeypatch):
    monkeypatch.setattr(staged, "MOST_UNITS", 2)
    hours = [FIRST + n * HOUR for n in (30, 31, 100)]
    assert staged.differing(hours, [WEEK]) == (
        Span(FIRST + DAY, FIRST + 2 * DAY),
        Span(FIRST + 4 * DAY, FIRST + 5 * DAY),
    )
    assert staged.differing([FIRST + n * DAY for n in range(3)], [WEEK]) == (WEEK,)
