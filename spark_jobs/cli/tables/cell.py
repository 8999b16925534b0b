"""Cell: formats one value of an ops table for a person, on one line."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from spark_jobs.errors.visible import visible
from spark_jobs.ops.views import WHEN
from spark_jobs.spec.duration import approximate
from spark_jobs.values.times import iso

NUMBERED = frozenset({"batch", "partition", "offset", "step", "table_version"})
"""Numbers that are ids.

They have no thousands separators, because other commands and Kafka's tools take none.
"""
OF_SLUICE = frozenset({"started_at", "ended_at", "audited_at", "checked_at"})
"""Times by the machine's clock, shown to the minute.

Other times are of records and shown exactly, for comparison.
"""
JUST_NOW = timedelta(seconds=2)


def cell(name: str, value: Any, now: datetime) -> str:
    """The value of the column `name`; empty where it is null. `now` has a time zone."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return ago(value, now) if name == WHEN else moment(value, exact=name not in OF_SLUICE)
    if isinstance(value, int):
        return str(value) if name in NUMBERED else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list | dict):
        return _parts(name, value, now)
    return visible(
        value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    )


def _parts(name: str, value: list[Any] | dict[str, Any], now: datetime) -> str:
    if isinstance(value, list):
        return "; ".join(cell(name, each, now) for each in value)
    return ", ".join(f"{key}={cell(key, each, now)}" for key, each in value.items())


def ago(then: datetime, now: datetime) -> str:
    """The time since then: "3 hours ago"; "in 3 hours" if another machine's clock is ahead of this
    one's.
    """
    since = now - then
    if abs(since) < JUST_NOW:
        return "just now"
    return f"{approximate(since)} ago" if since > timedelta() else f"in {approximate(-since)}"


def moment(time: datetime, *, exact: bool) -> str:
    """A time in UTC: "2026-11-22 14:03 UTC".

    An exact one has seconds and their fraction, unless they are 0.
    """
    return f"{iso(time, ' ', _unit(time) if exact else 'minutes')} UTC"


def _unit(time: datetime) -> str:
    if time.microsecond % 1000:
        return "microseconds"
    if time.microsecond:
        return "milliseconds"
    return "seconds" if time.second else "minutes"
