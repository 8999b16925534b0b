"""The input of both arms: flights of 2013, repeated, with a producer's duplicates, disorder and
malformed records.

Left out is what the two arms must treat differently: records that are late (which rows Spark drops
as late is the same in both, but DuckDB could not know it), clocks in the future (the baseline has
no guard), and malformations that from_json lets through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from local.deliveries import Delivered, Mess, deliver
from local.flights import FlightEvent, flight_events_many

MESS = Mess(premature_share=0, late_share=0)
REFUSED_BY_BOTH = frozenset(
    {
        "broken_json",
        "missing_event_id",
        "null_event_time",
        "missing_event_time",
        "empty_value",
        "tombstone",
        "not_an_object",
        "wrong_case_key",
    }
)


Events = Iterator[FlightEvent]


def deliveries(
    first: int, later: int, size: int, changed: Callable[[Events], Events] = iter
) -> list[Sequence[Delivered]]:
    """A first delivery of about `first` events and `later` ones of about `size`; duplicates and
    malformed records on top.
    """
    events = first + later * size
    records = delivered(changed(flight_events_many(events)))
    ends = [len(records) * (first + n * size) // events for n in range(later + 1)]
    return [records[start:end] for start, end in pairwise([0, *ends])]


def delivered(events: Iterable[FlightEvent], seed: int = 7) -> list[Delivered]:
    """The records of `events`, by arrival: with duplicates, and malformed ones that both refuse."""
    return [
        record
        for record in deliver(events, MESS, seed)
        if record.kind != "malformed" or record.reason in REFUSED_BY_BOTH
    ]
