"""Machine: how fast it is now, so that two days can be compared."""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

ROUNDS = 3


class Speed(NamedTuple):
    """Wall seconds of one fixed loop: alone, and on every core at once. The least of three."""

    alone: float
    together: float
    load: float
    """The load average of the last minute, before the loop."""

    def __str__(self) -> str:
        return (
            f"a fixed loop takes {self.alone:.2f} s alone, {self.together:.2f} s on each of "
            f"{os.cpu_count()} cores; load {self.load:.1f}"
        )


def speed() -> Speed:
    """Takes some five seconds."""
    load = os.getloadavg()[0]
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        list(pool.map(_loop, range(cores)))  # its processes have begun
        alone = min(pool.submit(_loop, 0).result() for _ in range(ROUNDS))
        together = min(max(pool.map(_loop, range(cores))) for _ in range(ROUNDS))
    return Speed(alone, together, load)


def _loop(_core: int) -> float:
    """Half of it in the interpreter, half in memory."""
    began = time.perf_counter()
    total = 0
    for number in range(4_000_000):
        total += number & 7
    block = bytes(1 << 20)
    for _ in range(200):
        block = hashlib.blake2b(block).digest() * (1 << 14)
    return time.perf_counter() - began
