"""What the decoding functions (decoder.py) call for what is rare: long numbers, odd values."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Final

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.schemed.varint import number

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LOCAL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time has no zone
FIRST_DAY: Final = date(1970, 1, 1).toordinal()
EXACT: Final = Context(prec=10_000)
"""Digits enough for any decimal: what does not fit the field is refused there."""
SHORT: Final = "the value ends in it"


def items(b: bytes, p: int, count: int) -> tuple[int, int, int]:
    """The count of a block, the place of its first item, and where it must end or -1: for the
    zigzag number `count` in front of p. An item of no bytes is refused by the thousand: a short
    value could have billions.
    """
    until = -1
    if count & 1:
        size, p = number(b, p)
        until = p + (size >> 1)
        if size & 1 or until > len(b):
            raise Wrong("a block has a wrong size")
        found = (count >> 1) + 1
    else:
        found = count >> 1
    if found > max(len(b) - p, 1000):
        raise Wrong(SHORT)
    return found, p, until


def day(days: int) -> date:
    """The date. Raises OverflowError or ValueError outside the years 1 to 9999."""
    return date.fromordinal(FIRST_DAY + days)


def time(ticks: int, per_second: int) -> datetime:
    """A time in UTC. Nanoseconds below a microsecond are cut, towards the past."""
    return EPOCH + timedelta(microseconds=ticks * 1_000_000 // per_second)


def local_time(ticks: int, per_second: int) -> datetime:
    """A time without a zone."""
    return LOCAL_EPOCH + timedelta(microseconds=ticks * 1_000_000 // per_second)


def decimal(unscaled: bytes, scale: int) -> Decimal:
    """A decimal from its big-endian two's complement."""
    return Decimal(int.from_bytes(unscaled, "big", signed=True)).scaleb(-scale, EXACT)


def uuid_text(content: bytes) -> str:
    """A UUID of 16 bytes as text."""
    return str(uuid.UUID(bytes=content))
