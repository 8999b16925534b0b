"""Rows: of a table, as the model has them."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tests.simulation.log import records
from tests.simulation.model import Key, Rows
from tests.unit.repaired import hour, row

EVENING = 20
"""The hour of the first record: a day is final some records later."""


def rows_in(folder: Path, at: int | None = None) -> Rows:
    """Those of the table in this folder, now or at a version; none without a table."""
    rows: Rows = {}
    for each in records(folder, at):
        number = int((each["windowEnd"] - hour(EVENING)) / timedelta(hours=1))
        key = Key(number, each["shop"])
        assert key not in rows, f"two rows of {key}"
        rows[key] = each["sales"]
    return rows


def row_of(key: Key, sales: int, version: int | None = None) -> dict[str, Any]:
    """The table's row; with the version of the table beside the stream that it was made with."""
    made = row(EVENING + key.offset, key.shop, sales)
    return made if version is None else made | {"ids": [key.shop, str(version)]}


def of_day(rows: Rows, day: date) -> Rows:
    """Windows whose last moment is on that day."""
    return {
        key: sales
        for key, sales in rows.items()
        if (hour(EVENING + key.offset) - timedelta(microseconds=1)).date() == day
    }
