"""Distance: a duration from one event time to another, which may be earlier."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

from spark_jobs.spec.duration import interval, parse_duration

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
