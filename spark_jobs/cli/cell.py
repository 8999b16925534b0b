"""One value of an ops table as a person reads it, on one line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.contract.duration import approximate
from spark_jobs.ops.views import WHEN

NUMBERED = frozenset({"batch", "partition", "offset", "step", "table_version"})
"""Numbers that name something. They have no thousands separators: other commands and Kafka's tools take them without."""
OF_SLUICE = frozenset({"started_at", "ended_at", "audited_at", "checked_at"})
"""Times by the machine's clock, shown to the minute. All others are of records: people compare them, so they are exact."""
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
    return visible(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value))


def ago(then: datetime, now: datetime) -> str:
    """How long ago: "3 hours ago"; "in 3 hours" where another machine's clock is ahead of this one's."""
    since = now - then
    if abs(since) < JUST_NOW:
        return "just now"
    return f"{approximate(since)} ago" if since > timedelta() else f"in {approximate(-since)}"


def moment(time: datetime, *, exact: bool) -> str:
    """A time in UTC: "2026-11-22 14:03 UTC". An exact one has seconds and their fraction, unless they are 0."""
    time = time.astimezone(UTC).replace(tzinfo=None)
    unit = "minutes"
    if exact and (time.second or time.microsecond):
        unit = "microseconds" if time.microsecond % 1000 else "milliseconds" if time.microsecond else "seconds"
    return f"{time.isoformat(' ', unit)} UTC"


def visible(text: str) -> str:
    """The text with its control characters escaped: a record's bytes can neither break a line nor steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
