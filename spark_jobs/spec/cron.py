"""Strict parser of five cron fields.

Airflow's croniter accepts every expression that passes here, and it fires some day.

It takes lists, ranges, steps and English names. It refuses croniter's extensions (L, #, W, H, R,
seconds).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from itertools import pairwise

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMED = {
    "month": {name: str(number) for number, name in enumerate(MONTHS, 1)},
    "day of week": {name: str(number) for number, name in enumerate(DAYS)},
}
_BOUNDS = {
    "minute": (0, 59),
    "hour": (0, 23),
    "day of month": (1, 31),
    "month": (1, 12),
    "day of week": (0, 7),
}
_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d{1,2}))?", re.ASCII)
_FIRST, _DAYS = date(2024, 1, 1), 5 * 366
"""Days with two 29ths of February."""
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def invalid_because(text: str) -> str | None:
    """Why a cron expression is invalid; None for a valid one."""
    fields = text.split(" ")
    if len(fields) != len(_BOUNDS):
        return (
            f"cron has {len(_BOUNDS)} fields with one space between them; this one has "
            f"{len(fields)}"
        )
    for name, field in zip(_BOUNDS, fields, strict=True):
        if any(_numbers(name, part) is None for part in field.split(",")):
            low, high = _BOUNDS[name]
            return (
                f"its {name} {field!r} is not a list of numbers, ranges and steps from {low} "
                f"to {high}"
            )
    day, month, weekday = fields[2:]
    longest = max(_LONGEST[number - 1] for number in _all("month", month))
    if weekday == "*" and min(_all("day of month", day)) > longest:
        return "none of its months has that day, so it never fires"
    return None


@cache
def longest_wait(text: str) -> timedelta:
    """The longest time between two firings of a valid expression.

    >>> str(longest_wait("30 6 * * mon-fri")), str(longest_wait("0 6,18 * * *"))
    ('3 days, 0:00:00', '12:00:00')
    """
    minute, hour, *day = text.split(" ")
    times = sorted(
        timedelta(hours=hours, minutes=minutes)
        for hours in _all("hour", hour)
        for minutes in _all("minute", minute)
    )
    days = [*_days(*day)]
    within = [later - one for one, later in pairwise(times)]
    over = [later - one for one, later in pairwise(days)]
    return max(*within, *(each + times[0] - times[-1] for each in over), timedelta())


def _days(day: str, month: str, weekday: str) -> Iterator[date]:
    """Those on which it fires. If both name days, one of the two is enough."""
    days, months = {*_all("day of month", day)}, {*_all("month", month)}
    weekdays = {number % 7 for number in _all("day of week", weekday)}
    either = not day.startswith("*") and not weekday.startswith("*")
    for number in range(_DAYS):
        at = _FIRST + timedelta(days=number)
        by = at.day in days, at.isoweekday() % 7 in weekdays
        if at.month in months and (any(by) if either else all(by)):
            yield at


def _all(name: str, field: str) -> list[int]:
    return [number for part in field.split(",") for number in _numbers(name, part) or ()]


def _numbers(name: str, part: str) -> range | None:
    """The numbers that one part of a list means; None for an invalid part."""
    match = _PART.fullmatch(part.lower())
    if match is None:
        return None
    first, last, step = match.groups()
    low, high = _BOUNDS[name]
    if step is not None and not 1 <= int(step) <= high:
        return None
    if first is None:
        return range(low, high + 1, int(step or 1))
    if step is not None and last is None:
        return None
    start, end = (_NAMED.get(name, {}).get(word, word) for word in (first, last or first))
    if not (start.isdigit() and end.isdigit()) or not low <= int(start) <= int(end) <= high:
        return None
    return range(int(start), int(end) + 1, int(step or 1))
