"""The input of the many keys: as many departures in each hour as are wanted.

Each hour is made alone, since millions of records at once would take gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache

from bench import workload
from local.deliveries import Delivered
from local.flights import FlightEvent, flight_events

FIRST = datetime(2013, 1, 1, tzinfo=UTC)
AGAIN_AFTER, AGAIN_EACH = 2, 50
"""Each fiftieth departure is sent again, two hours later."""


def delivery(hour: int, departures: int) -> list[Delivered]:
    """The records of one hour: so many departures, ids of their own, and a producer's mess; and
    some of those of two hours before again, which only the state tells from new ones.
    """
    again = list(_departures(hour - AGAIN_AFTER, departures))[::AGAIN_EACH]
    return workload.delivered([*again, *_departures(hour, departures)], seed=hour)


def _departures(hour: int, count: int) -> Iterator[FlightEvent]:
    flights = _flights()
    for number in range(count):
        at = FIRST + timedelta(hours=hour, seconds=3600 * number // count)
        flight = flights[number % len(flights)]
        yield replace(
            flight,
            event_id=f"{flight.event_id}-{hour}-{number}",  # as long as real ones
            event_time=at,
            scheduled_time=at,
        )


@cache
def _flights() -> list[FlightEvent]:
    """The departures of a month."""
    month = flight_events(date(2013, 1, 1), 1)
    return [event for event in month if event.event_type == "departure"]
