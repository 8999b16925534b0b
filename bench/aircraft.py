"""Aircraft: the table of 100,000 rows that the flights of the bench look up: two versions of each
aircraft, which meet in the middle of a year.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import write_deltalake
from pyarrow import parquet

from bench.lines import write_lines
from bench.pipelines.delays_with_seats.place import PLACE
from local.flights import FlightEvent

KEYS: Final = 50_000
CHANGED: Final = datetime(2013, 7, 1, tzinfo=UTC)
"""From then on an aircraft has other seats."""
MOMENT: Final = pa.timestamp("us", "UTC")


class Aircraft:
    """The Delta table, the same rows in a file for DuckDB, and in lines for Flink."""

    def __init__(self, folder: Path) -> None:
        self.table = folder / "aircraft"
        self.file = folder / "aircraft.parquet"
        self.lines = folder / "aircraft.json"

    def write(self, corrected: int = 0) -> None:
        """A version of it, in which the first so many have a seat more, always."""
        seats = [50 + key % 200 + (key < corrected) for key in range(KEYS)]
        both = range(KEYS)
        rows = pa.table(
            {
                "tail_number": [tail(key) for key in both] * 2,
                "valid_from": pa.array([None] * KEYS + [CHANGED] * KEYS, MOMENT),
                "valid_to": pa.array([CHANGED] * KEYS + [None] * KEYS, MOMENT),
                "seats": pa.array(seats + [each + 3 for each in seats], pa.int32()),
                "maker": [f"Maker {key % 7}" for key in both] * 2,
            }
        )
        write_deltalake(str(self.table), rows, mode="overwrite")
        parquet.write_table(rows, self.file)

    def write_lines(self) -> None:
        """The same for Flink, whose versions have a first moment, and end where the next begins."""
        first = "coalesce(valid_from, make_timestamptz(0))"
        query = f"select tail_number, {first} as valid_from, seats, maker from rows"
        write_lines(self.lines, query, parquet.read_table(self.file))


def announce(folder: Path) -> None:
    """Tell specs where the table of `Aircraft(folder)` will be: before the first part, since a
    process reads each spec once, and several parts read all of them.
    """
    os.environ[PLACE] = str(Aircraft(folder).table)


def tail(key: int) -> str:
    return f"N{key:06}"


def flown(events: Iterable[FlightEvent]) -> Iterator[FlightEvent]:
    """The same flights, by all aircraft in turn."""
    for number, event in enumerate(events):
        yield replace(event, tail_number=tail(number % KEYS))
