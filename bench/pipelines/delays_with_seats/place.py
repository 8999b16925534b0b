"""Place: where the table of aircraft is."""

from typing import Final

PLACE: Final = "BENCH_AIRCRAFT"
"""The variable with its folder (bench/aircraft.py)."""
