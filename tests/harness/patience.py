"""Patience: how long a test waits. Limits are those of a quiet machine; on a slower one they grow,
as its speed was measured when the run began.
"""

from __future__ import annotations

import os
import time
from statistics import median
from typing import Final

VARIABLE: Final = "SLUICE_TESTS_SLOWNESS"
"""What the first process of a run has measured, for its lanes and for what they start."""
TURNS: Final = 2_000_000
QUIET_SECONDS: Final = 0.05
"""What so many turns of the loop take on the machine of the limits when it has nothing else to do."""
MOST: Final = 10.0
"""A machine that is slower still has another problem than these tests."""


def measured(looks: int = 5) -> float:
    """How many times slower this machine is now: 1 where it is as fast, or faster."""
    return min(MOST, max(1.0, median(_loop() for _ in range(looks)) / QUIET_SECONDS))


def _loop() -> float:
    began, at = time.perf_counter(), 0
    for number in range(TURNS):
        at ^= number
    return time.perf_counter() - began


def patient(seconds: float) -> float:
    """A limit of so many seconds, on this machine."""
    return seconds * float(os.environ.get(VARIABLE, "1"))


def measure() -> None:
    """Once a run."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = f"{measured():.2f}"
