"""Amounts as text, with their units."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Literal

from spark_jobs.spec.duration import approximate

Unit = Literal["records", "rows", "bytes", "seconds", "share", "number"]
"""Of the values of a chart."""
LASTING = {"d": 86_400, "h": 3_600, "min": 60}


def number(value: float) -> str:
    """A number of unknown kind, without digits that say nothing.

    >>> number(0.05), number(2**30), number(3.0), number(1234.5678)
    ('0.05', '1,073,741,824', '3', '1,234.57')
    """
    return f"{int(value):,}" if value == int(value) else f"{value:,.6g}"


def in_bytes(value: float) -> str:
    """A size with its unit.

    >>> in_bytes(500), in_bytes(1_500_000), in_bytes(2**30)
    ('500 B', '1.4 MiB', '1.0 GiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:  # noqa: PLR2004 - of binary units
            return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} GiB"


def lag(seconds: float) -> str:
    return approximate(timedelta(seconds=seconds)) if seconds >= 1 else "under a second"


def lasting(seconds: float) -> str:
    """A time by its two largest units.

    >>> lasting(7.25), lasting(10_234), lasting(3 * 86_400 + 61), lasting(120)
    ('7.2 s', '2 h 50 min', '3 d', '2 min')
    """
    for place, (unit, size) in enumerate(LASTING.items()):
        if seconds >= size:
            below, least = [*LASTING.items(), ("s", 1)][place + 1]
            rest = int(seconds % size // least)
            return f"{int(seconds // size):,} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{seconds:,.1f} s"


def share(value: float) -> str:
    return f"{100 * value:,.2f} %"


def amount(value: float | None, unit: Unit) -> str:
    """Of a chart; empty where there is none.

    >>> amount(1234, "records"), amount(2**20, "bytes"), amount(None, "share")
    ('1,234', '1.0 MiB', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    told = {"bytes": in_bytes, "seconds": lasting, "share": share}
    return told.get(unit, number)(value)
