"""Durations in specs: a timedelta, or Spark's interval text ("1 hour 30 minutes")."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

from spark_jobs.spec.model import refuse

UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
}
LONGEST = timedelta(days=36_525)
"""A century.

Spark and Arrow count time in microseconds since 1970; far longer durations overflow that inside a
worker.
"""
_PART = re.compile(r"(\d{1,18})\s+([a-z]+?)s?(?:\s+|$)", re.ASCII)


def parse_duration(given: object) -> timedelta:
    """A timedelta from a timedelta or from interval text.

    Months and years are refused: they have no fixed length.

    >>> parse_duration("1 hour 30 minutes")
    datetime.timedelta(seconds=5400)
    """
    if isinstance(given, timedelta):
        return _bounded(given, given)
    text = given.strip().lower() if isinstance(given, str) else ""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text) or any(unit not in UNITS for _, unit in parts):
        refuse(
            "duration",
            given,
            "it is not a duration",
            "Write a timedelta or text such as '2 hours' or '1 day 30 minutes'; the units are "
            f"{', '.join(UNITS)}",
        )
    try:
        return _bounded(
            sum((int(count) * UNITS[unit] for count, unit in parts), timedelta()), given
        )
    except OverflowError:
        return _bounded(timedelta.max, given)


def _bounded(duration: timedelta, given: object) -> timedelta:
    if duration > LONGEST:
        refuse(
            "duration",
            str(given),
            f"it is longer than a century ({LONGEST.days} days)",
            "Write a shorter one",
        )
    if duration % UNITS["millisecond"]:
        refuse(
            "duration",
            str(given),
            "Spark's event time has millisecond precision",
            "Round it to whole milliseconds",
        )
    return duration


def interval(duration: timedelta) -> str:
    """Spark's interval text for a duration, exact to the millisecond, in the largest units that
    fit.

    >>> interval(timedelta(minutes=90))
    '1 hour 30 minutes'
    """
    left = duration
    words = []
    for unit, size in UNITS.items():
        count, left = divmod(left, size)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(words) or "0 seconds"


def approximate(duration: timedelta) -> str:
    """A duration for a reader: rounded, in the largest unit up to days that fits at least twice.

    >>> approximate(timedelta(minutes=100)), approximate(timedelta(hours=50))
    ('100 minutes', '2 days')
    """
    unit = next(
        (unit for unit in ("day", "hour", "minute") if duration >= 2 * UNITS[unit]), "second"
    )
    count = round(duration / UNITS[unit])
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


# A field of this type sets strict=False, so that mypy accepts text for it. parse_duration checks
# the value in any case.
Duration = Annotated[
    timedelta, BeforeValidator(parse_duration), PlainSerializer(interval, return_type=str)
]


def positive(field: str, value: timedelta) -> None:
    """Refuse a duration that is not more than 0."""
    if value <= timedelta():
        refuse(field, str(value), "it must be more than 0", "Write for example '30 minutes'")


def zoned(field: str, value: datetime | None) -> None:
    """Refuse a time without a zone."""
    if value is not None and value.tzinfo is None:
        refuse(
            field,
            value,
            "it has no time zone, so it means another time on another machine",
            "Use datetime(..., tzinfo=UTC)",
        )


ZERO: Final = timedelta()


def _signed(given: object) -> timedelta:
    """A duration, or `-` and a duration."""
    if isinstance(given, str) and given.strip().startswith("-"):
        return -parse_duration(given.strip()[1:].strip())
    if isinstance(given, timedelta) and given < ZERO:
        return -parse_duration(-given)
    return parse_duration(given)


def shown(duration: timedelta) -> str:
    return f"-{interval(-duration)}" if duration < ZERO else interval(duration)


Distance = Annotated[timedelta, BeforeValidator(_signed), PlainSerializer(shown, return_type=str)]
