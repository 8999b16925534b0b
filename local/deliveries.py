"""What a real producer makes of events: at least once, out of order, late, malformed and with
clocks in the future.

Every good event is delivered at least once, unchanged. Malformed and premature records come on top,
made from a good event but with an id of their own, so that a job that lets one through shows an
event too many, not the right one.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import cycle, pairwise
from operator import attrgetter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from local.flights import COMPACT, FlightEvent

Kind = Literal["good", "duplicate", "malformed", "premature"]


class Mess(BaseModel):
    """How often a producer fails. Shares are of the events: 0.03 is three in a hundred."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    duplicate_share: float = Field(default=0.03, ge=0, le=1)
    """Sent again, byte for byte, up to 45 minutes after the first time."""
    latency_minutes: float = Field(default=3, gt=0)
    """Mean of the exponential time from an event to its arrival, which is what puts records out of
    order.
    """
    latency_cap_minutes: float = Field(default=60, ge=0)
    late_share: float = Field(default=0.004, ge=0, le=1)
    """Arrives 1 to 5 days after its event time instead."""
    malformed_share: float = Field(default=0.003, ge=0, le=1)
    premature_share: float = Field(default=0.001, ge=0, le=1)
    """The event time in the payload is 2 days to 10 years after the arrival."""


USUAL = Mess()
CLEAN = Mess(duplicate_share=0, late_share=0, malformed_share=0, premature_share=0)


@dataclass(frozen=True, slots=True)
class Delivered:
    """One record as it is sent to Kafka, and what is true of it."""

    kafka_timestamp: datetime
    """The arrival, aware, in UTC, to the millisecond."""
    key: bytes | None
    """The tail number, or the event id where there is none."""
    value: bytes | None
    """None is a tombstone."""
    kind: Kind
    reason: str
    """What is wrong with a malformed record, one of MALFORMATIONS; else empty."""
    delayed: bool
    """Deliberately late. A duplicate of a late record is late too."""
    event: FlightEvent | None
    """What the payload says; None when malformed."""


def deliver(events: Iterable[FlightEvent], mess: Mess = USUAL, seed: int = 7) -> list[Delivered]:
    """The records for `events`, by arrival.

    The same events, mess and seed give the same records.
    """
    chance = random.Random(seed)
    breaking = cycle(MALFORMATIONS.items())
    records: list[Delivered] = []
    for event in events:
        delayed = chance.random() < mess.late_share
        arrival = event.event_time + _latency(chance, mess, delayed=delayed)
        key = (event.tail_number or event.event_id).encode()
        good = Delivered(arrival, key, event.to_json().encode(), "good", "", delayed, event)
        records.append(good)
        if chance.random() < mess.duplicate_share:
            again = arrival + _minutes(chance.uniform(0, 45))
            records.append(replace(good, kafka_timestamp=again, kind="duplicate"))
        if chance.random() < mess.malformed_share:
            reason, broken = next(breaking)
            fields = event.fields() | {"event_id": f"{event.event_id}-broken"}
            records.append(
                Delivered(arrival, key, broken(fields), "malformed", reason, False, None)
            )
        if chance.random() < mess.premature_share:
            records.append(_premature(chance, event, arrival))
    # A stable sort: records of the same millisecond stay in the order of their events.
    return sorted(records, key=attrgetter("kafka_timestamp"))


def split(records: Sequence[Delivered], deliveries: int) -> list[Sequence[Delivered]]:
    """`records` cut, in their order, into `deliveries` parts whose sizes differ by one at most."""
    if deliveries < 1:
        message = f"records are split into 1 delivery or more, not {deliveries}"
        raise ValueError(message)
    cuts = [len(records) * part // deliveries for part in range(deliveries + 1)]
    return [records[start:end] for start, end in pairwise(cuts)]


def _latency(chance: random.Random, mess: Mess, *, delayed: bool) -> timedelta:
    if delayed:
        return _minutes(chance.uniform(1, 5) * 24 * 60)
    return _minutes(min(chance.expovariate(1 / mess.latency_minutes), mess.latency_cap_minutes))


def _premature(chance: random.Random, event: FlightEvent, arrival: datetime) -> Delivered:
    # The logarithm is uniform: wrong by days is as likely as wrong by years.
    ahead = timedelta(days=2 * (3650 / 2) ** chance.random())
    clock = (arrival + ahead).replace(microsecond=0) + timedelta(seconds=1)
    wrong = replace(event, event_id=f"{event.event_id}-future", event_time=clock)
    key = (wrong.tail_number or wrong.event_id).encode()
    return Delivered(arrival, key, wrong.to_json().encode(), "premature", "", False, wrong)


def _minutes(minutes: float) -> timedelta:
    """To the millisecond, which is all that a Kafka timestamp holds."""
    return timedelta(milliseconds=int(minutes * 60_000))


def _json(value: Any) -> bytes:
    return COMPACT.encode(value).encode()


def _without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


MALFORMATIONS: dict[str, Callable[[dict[str, Any]], bytes | None]] = {
    "broken_json": lambda fields: _json(fields)[: len(_json(fields)) // 2],
    "missing_event_id": lambda fields: _json(_without(fields, "event_id")),
    "null_event_time": lambda fields: _json(fields | {"event_time": None}),
    "missing_event_time": lambda fields: _json(_without(fields, "event_time")),
    "wrong_type": lambda fields: _json(fields | {"flight": "UA12x"}),
    "empty_value": lambda _: b"",
    "tombstone": lambda _: None,
    "trailing_garbage": lambda fields: _json(fields) + b" 0xDEADBEEF",
    "two_objects": lambda fields: (
        _json(fields) + _json(fields | {"event_id": f"{fields['event_id']}-2"})
    ),
    "wrong_case_key": lambda fields: _json(
        {"Event_Id": fields["event_id"]} | _without(fields, "event_id")
    ),
    "integer_overflow": lambda fields: _json(fields | {"flight": 99999999999}),
    "fraction_into_integer": lambda fields: _json(fields | {"delay_minutes": 3.7}),
    "not_an_object": lambda fields: _json(list(fields.values())),
    # 0xFF occurs nowhere in UTF-8.
    "invalid_utf8": lambda fields: _json(fields | {"carrier": "??"}).replace(b"??", b"\xff\xfe"),
}
"""Each way to break a payload: from the fields of a good event to the bytes that are sent."""
