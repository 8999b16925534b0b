"""Moments as whole microseconds since the epoch; it imports nothing, as Spark's workers need."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND, MILLISECOND = timedelta(microseconds=1), timedelta(milliseconds=1)


def at(us: int) -> datetime:
    """The moment so many microseconds after the epoch."""
    return EPOCH + us * MICROSECOND


def us(moment: datetime) -> int:
    """How many microseconds after the epoch it is."""
    return (moment - EPOCH) // MICROSECOND
