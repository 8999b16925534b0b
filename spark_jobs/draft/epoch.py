"""Epoch: numbers that are times since 1970, and in which unit. A phone number is none, though it
may have as many digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

UNITS: Final = {"s": 1_000, "ms": 1, "us": 1 / 1_000, "ns": 1 / 1_000_000}
"""An epoch's unit -> milliseconds."""
DAY_MS: Final = 86_400_000
YEARS_MS: Final = 20 * 365 * DAY_MS
"""So far from the arrival of its record is a time, if it is called one."""
NEAR_MS: Final = 40 * DAY_MS
"""So far, if it is not."""
SMALLEST: Final = 10**9
_NAMED: Final = re.compile(r"(^|_)(ts|time|timestamp|at|date|when|created|updated)(_|$)")
_DIGITS: Final = re.compile(
    r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d[0-5]\d"
)


class Epoch(NamedTuple):
    """What numbers would be as times."""

    unit: str
    sure: bool
    """By their name, or since all are near the arrival."""


def epoch(name: str, numbers: Sequence[float], clock_ms: float) -> Epoch | None:
    """None if they are no times of these years in any unit. `clock_ms` is when they arrived."""
    for unit, ms in UNITS.items():
        away = max(abs(each * ms - clock_ms) for each in numbers)
        if away < YEARS_MS:
            near = away < NEAR_MS and min(numbers) >= SMALLEST
            return Epoch(unit, sure=near or bool(_NAMED.search(name)))
    return None


def is_written_out(text: str) -> bool:
    """Whether it is year, month, day, hour, minute and second, as digits alone."""
    return bool(_DIGITS.fullmatch(text))
