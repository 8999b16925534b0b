"""Spark times: every time of Spark in the rows that PySpark makes.

Its own way fails on the first day of the year 1, Go's zero time: CPython's datetime.fromtimestamp
looks a day ahead of it, and "year 0 is out of range".
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark.sql import types

from spark_jobs.python_times import date_of, time_of


def make_total() -> None:
    """Let this process have every time that PySpark collects, and that a processor gets of its
    state; one that Python has not is text (python_times.py).

    Times without a zone are in the zone of the process, which is UTC. Great Expectations collects
    the values that failed a check, so this cannot be a function of ours alone.
    """
    for kind, found in (
        (types.TimestampType, _naive),
        (types.TimestampNTZType, _naive),
        (types.DateType, _date),
    ):
        kind.fromInternal = found  # type: ignore[assignment, method-assign]


def _naive(_: Any, us: int | None) -> Any:
    if us is None:
        return None
    found = time_of(us)
    return found.replace(tzinfo=None) if isinstance(found, datetime) else found


def _date(_: Any, days: int | None) -> Any:
    return None if days is None else date_of(days)
