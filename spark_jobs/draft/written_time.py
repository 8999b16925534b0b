"""Written time: numbers since 1970 in one of several units; texts of one pattern, whose clock is in
a zone that the arrival of the records shows.

A phone number is no time, though it may have as many digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from spark_jobs.spec import Local

UNITS: Final = {"s": 1_000, "ms": 1, "us": 1 / 1_000, "ns": 1 / 1_000_000}
"""An epoch's unit -> milliseconds."""
DAY_MS: Final = 86_400_000
YEARS_MS: Final = 20 * 365 * DAY_MS
"""So far from the arrival of its record is a time, if it is called one."""
NEAR_MS: Final = 40 * DAY_MS
"""So far, if it is not."""
SMALLEST: Final = 10**9
_NAMED: Final = re.compile(r"(^|_)(ts|time|timestamp|at|date|when|created|updated)(_|$)")


class Epoch(NamedTuple):
    """What numbers would be as times."""

    unit: str
    sure: bool
    """By name, or all are near the arrival."""


def epoch(name: str, numbers: Sequence[float], clock_ms: float) -> Epoch | None:
    """None if they are no times of these years in any unit. `clock_ms` is when they arrived."""
    for unit, ms in UNITS.items():
        away = max(abs(each * ms - clock_ms) for each in numbers)
        if away < YEARS_MS:
            near = away < NEAR_MS and min(numbers) >= SMALLEST
            return Epoch(unit, sure=near or bool(_NAMED.search(name)))
    return None


PATTERNS: Final = (
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S,%f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p",
    "%d/%b/%Y:%H:%M:%S %z", "%d-%b-%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M%z",
    "%Y%m%d%H%M%S", "%Y%m%dT%H%M%S%z", "%Y%m%d %H%M%S", "%Y%m%dT%H%M%S",
)  # fmt: skip
HOUR_MS: Final = 3_600_000
QUICK_MS: Final = HOUR_MS // 6
"""So soon after it a record arrives, where its clock is in the zone that is looked for."""
FEW: Final = 0.01
"""Of all records: what so few have otherwise is a fault of theirs."""
FARTHEST: Final = 14
"""Hours that a clock is ahead of UTC at most."""

_DIGITS: Final = re.compile(
    r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d[0-5]\d"
)


class Written(NamedTuple):
    """How times are written."""

    format: Local
    note: str
    """What a person should look at."""


def written(texts: Sequence[str], clock_ms: float) -> Written | None:
    """None where no pattern fits almost all of them. Of several the one by which they are nearest
    to the arrival counts: day and month may change places. Without a sure zone it has none.
    """
    fitting = (
        (pattern, found) for pattern in PATTERNS if (found := _read(pattern, texts)) is not None
    )
    behind = {pattern: clock_ms - median(found) for pattern, found in fitting}
    if not behind:
        return None
    pattern = min(behind, key=lambda each: abs(behind[each]))
    if "%z" in pattern:
        return Written(Local(pattern=pattern), "")
    return _zoned(pattern, behind[pattern])


def is_written_out(text: str) -> bool:
    """Whether it is year, month, day, hour, minute and second, as digits alone."""
    return bool(_DIGITS.fullmatch(text))


def instant(text: str, format_: Local) -> float:
    """In milliseconds since 1970; without a zone as if it was UTC's. Raises ValueError."""
    at = datetime.strptime(text, format_.pattern)  # noqa: DTZ007 - its zone is added
    zone = ZoneInfo(format_.zone) if format_.zone else UTC
    return (at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000


def _read(pattern: str, texts: Sequence[str]) -> list[float] | None:
    format_ = Local(pattern=pattern)
    expression, matching = format_.expression, list[str]()
    for place, text in enumerate(texts, 1):
        if expression.fullmatch(text):
            matching.append(text)
        elif place - len(matching) > FEW * len(texts):
            return None
    try:
        return [instant(text, format_) for text in matching]
    except ValueError:
        return None


def _zoned(pattern: str, behind_ms: float) -> Written:
    """Ahead of its arrival only a clock of another zone can be; behind it a slow producer, too."""
    ahead = round(-behind_ms / HOUR_MS)
    quick = -QUICK_MS / 2 <= behind_ms + ahead * HOUR_MS <= QUICK_MS
    if quick and ahead == 0:
        told = "it has no zone: by its arrival its clock is UTC's"
        return Written(Local(pattern=pattern, zone="UTC"), told)
    if quick and 0 < ahead <= FARTHEST:
        told = (
            f"it has no zone: by its arrival its clock is {ahead} h ahead of UTC's. Name its zone"
        )
        return Written(Local(pattern=pattern, zone=f"Etc/GMT-{ahead}"), told)
    zoned = f"type='timestamp', format=Local(pattern='{pattern}', zone='...')"
    return Written(Local(pattern=pattern), f"it has no zone: no event time without {zoned}")
