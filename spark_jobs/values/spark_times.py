"""Spark times: every time of Spark in the rows that PySpark makes.

Its own way fails on the first day of the year 1, Go's zero time: CPython's datetime.fromtimestamp
looks a day ahead of it, and "year 0 is out of range".
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import Column, functions as F, types

from spark_jobs.values.field_types import Value
from spark_jobs.values.times import EPOCH, date_of, time_of


def make_total() -> None:
    """Let this process have every time that PySpark collects, and that a processor gets of its
    state; one that Python has not is text (times.py).

    Times without a zone are in the zone of the process, which is UTC. Great Expectations collects
    the values that failed a check, so this cannot be a function of ours alone.
    """
    for kind, found in (
        (types.TimestampType, _naive),
        (types.TimestampNTZType, _naive),
        (types.DateType, _date),
    ):
        kind.fromInternal = found  # type: ignore[assignment, method-assign]


def literal(value: Value) -> Column:
    """As F.lit, which takes a time before 1582 through the calendar of those days, two days off in
    the year 1.
    """
    if isinstance(value, datetime) and value.tzinfo is None:
        return literal(value.replace(tzinfo=UTC)).cast("timestamp_ntz")  # the session's zone is UTC
    if isinstance(value, datetime):
        return F.timestamp_micros(F.lit((value - EPOCH) // timedelta(microseconds=1)))
    if isinstance(value, date):
        return F.date_from_unix_date(F.lit((value - EPOCH.date()).days))
    return F.lit(value)


def _naive(_: Any, us: int | None) -> Any:
    if us is None:
        return None
    found = time_of(us)
    return found.replace(tzinfo=None) if isinstance(found, datetime) else found


def _date(_: Any, days: int | None) -> Any:
    return None if days is None else date_of(days)
