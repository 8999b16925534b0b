"""The input of the repairs: the flights of 59 days, many times over, in one load; then records that
are late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import chain

from bench.workload import delivered
from local.deliveries import Delivered
from local.flights import FlightEvent, flight_events

MONTHS, DAYS = 2, 59
"""January and February 2013."""
LATE_DAYS = (1, 57)
"""The first and the last day of the late records, counted from the first day."""


def load(events: int) -> list[Delivered]:
    """About so many events: those of the 59 days, each several times under ids of its own."""
    once = list(flight_events(date(2013, 1, 1), MONTHS))
    copies = max(1, round(events / len(once)))
    every = chain.from_iterable(
        (replace(event, event_id=f"{event.event_id}-{copy}") for copy in range(copies))
        for event in once
    )
    return delivered(every)


def late(load: Sequence[Delivered], count: int, round_: int) -> list[Delivered]:
    """So many new departures, each in another hour of another day, which come after all of the
    load; each round has others. Behind them comes one that is in time: a drain of nothing but late
    records fails its checks.
    """
    newest = max(record.kafka_timestamp for record in load)
    events = [record.event for record in load if record.event is not None]
    first, last = LATE_DAYS
    days = [first + (last - first) * number // max(1, count - 1) for number in range(count)]
    noon = datetime(2013, 1, 1, 12, 30, tzinfo=UTC)
    times = [noon + timedelta(days=day, hours=number % 7) for number, day in enumerate(days)]
    made = []
    for number, at in enumerate([*times, max(event.event_time for event in events)]):
        event = replace(
            events[0],
            event_id=f"late-{round_}-{number}",
            event_type="departure",
            event_time=at,
            scheduled_time=at,
            delay_minutes=5,
            cancelled=False,
        )
        arrival = newest + timedelta(seconds=number + 60 * round_)
        made.append(_record(event, arrival))
    return made


def _record(event: FlightEvent, arrival: datetime) -> Delivered:
    key = (event.tail_number or event.event_id).encode()
    return Delivered(arrival, key, event.to_json().encode(), "good", "", True, event)
