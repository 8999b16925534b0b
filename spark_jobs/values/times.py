"""Times: from numbers, in UTC, and as text. The only file that does so: CPython's `fromtimestamp`
and `astimezone` fail for days of the years 1 and 9999, and ask the zone of the process.

Python's times are of the years 1 to 9999. Results may be beyond: a window begins before its record,
and 9999-12-31 plus a day is a time for Spark. Such a one is text here: a person sees it, and code
that would compute with it fails.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS_OF_400_YEARS: Final = 146_097


def at_seconds(since: float) -> datetime:
    """From seconds since the epoch; of a time that Python has not, the nearest that it has.

    >>> print(at_seconds(-62135596800.0), at_seconds(1e12))
    0001-01-01 00:00:00+00:00 9999-12-31 23:59:59.999999+00:00
    """
    return _after(since, timedelta(seconds=1))


def at_milliseconds(since: float) -> datetime:
    """Likewise from milliseconds."""
    return _after(since, timedelta(milliseconds=1))


def at_micros(since: int | None) -> datetime | None:
    """Likewise from microseconds: a Transform may make a time of another year, and every range of
    the nearest one is there too. None of None.
    """
    return None if since is None else _after(since, timedelta(microseconds=1))


def _after(number: float, unit: timedelta) -> datetime:
    try:
        return EPOCH + number * unit
    except OverflowError:
        end = datetime.max if number > 0 else datetime.min  # noqa: DTZ901 - it gets its zone here
        return end.replace(tzinfo=UTC)


def utc(at: datetime) -> datetime:
    """In UTC, which a time without a zone is in already. Raises OverflowError for a time that
    Python has not there.

    >>> print(utc(datetime(1, 1, 1)))
    0001-01-01 00:00:00+00:00
    """
    return EPOCH + ((at.replace(tzinfo=UTC) if at.tzinfo is None else at) - EPOCH)


def in_utc(at: datetime) -> datetime | str:
    """Likewise, and text of a time that Python has not there."""
    try:
        return utc(at)
    except OverflowError:
        return time_of((at - EPOCH) // timedelta(microseconds=1))


def iso(at: datetime, between: str = "T", unit: str = "auto") -> str:
    """In UTC, without the zone; `between` stands before the time of day, and `unit` is its last
    one, as `datetime.isoformat` has both.

    >>> iso(datetime(1, 1, 1), " ", "minutes")
    '0001-01-01 00:00'
    """
    found = in_utc(at)
    if isinstance(found, str):
        return found.removesuffix("Z").replace("T", between)
    return found.replace(tzinfo=None).isoformat(between, unit)


def time_of(us: int) -> datetime | str:
    """From microseconds since the epoch.

    >>> print(time_of(-62135596800000000), time_of(253402300800000000))
    0001-01-01 00:00:00+00:00 +10000-01-01T00:00:00Z
    """
    try:
        return EPOCH + timedelta(microseconds=us)
    except OverflowError:
        days, rest = divmod(us, 86_400_000_000)
        clock = (datetime.min + timedelta(microseconds=rest)).time().isoformat()  # noqa: DTZ901 - a time of day
        return f"{date_of(days)}T{clock}Z"


def date_of(days: int) -> date | str:
    """From days since the epoch.

    >>> date_of(-719162), date_of(-719163), date_of(2932897), date_of(-1000000)
    (datetime.date(1, 1, 1), '0000-12-31', '+10000-01-01', '-0768-02-04')
    """
    try:
        return EPOCH.date() + timedelta(days=days)
    except OverflowError:  # the calendar repeats itself after 400 years
        cycles, rest = divmod(days, _DAYS_OF_400_YEARS)
        like = EPOCH.date() + timedelta(days=rest)
        year = like.year + 400 * cycles
        sign = "-" if year < 0 else "+" if year > date.max.year else ""
        return f"{sign}{abs(year):04d}-{like:%m-%d}"
