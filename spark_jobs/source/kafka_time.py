"""Kafka time: which of Kafka's timestamps are times. A producer sets them, in milliseconds since
1970, and brokers take any number: microseconds, nanoseconds, 0, -1.

One between spans.py's FIRST and LAST is a time. Any other is kept as the number that it is: Python
has no year 10000, delta-rs none after 2262, and Spark no microseconds for the largest ones.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from spark_jobs.values.spans import EPOCH, FIRST, LAST

MILLISECOND: Final = timedelta(milliseconds=1)
FIRST_MS: Final = (FIRST - EPOCH) // MILLISECOND
LAST_MS: Final = (LAST - EPOCH) // MILLISECOND


def is_time(milliseconds: int) -> bool:
    """Whether a Kafka timestamp is a time.

    >>> is_time(1_700_000_000_000), is_time(1_700_000_000_000_000), is_time(2**63 - 1), is_time(0)
    (True, False, False, True)
    """
    return FIRST_MS <= milliseconds < LAST_MS


def clamped(milliseconds: int) -> datetime:
    """The time, or the closest one that there is.

    >>> clamped(1_700_000_000_000_000) == LAST, clamped(-(2**63)) == FIRST
    (True, True)
    """
    return EPOCH + min(max(milliseconds, FIRST_MS), LAST_MS) * MILLISECOND
