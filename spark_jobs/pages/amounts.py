"""Amounts as text, with their units."""

from __future__ import annotations

from datetime import timedelta

from spark_jobs.spec.duration import approximate


def number(value: float) -> str:
    """A number of which nothing is known, without digits that say nothing.

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


def share(value: float) -> str:
    return f"{100 * value:,.2f} %"
