"""The present row of each key: a load of as many keys as there are records, then deliveries of
changes, by Sluice's Latest and by foreachBatch with MERGE (merge_by_hand.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from bench.arms import Arm, Script
from bench.oracle import Wanted
from bench.own_pipelines import PACKAGE, own_pipelines
from bench.published import Published
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, costs
from bench.topic import running
from local.deliveries import CLEAN, Delivered, deliver
from local.flights import FlightEvent, flight_events_many
from spark_jobs.settings.installation import Settings

SLUICE, RIVAL = "Sluice", "MERGE by hand"
PIPELINE: Final = "present_aircraft"
OLDER: Final = timedelta(days=3650)
"""So much older than all others is one change of ten."""
PRESENT = Wanted(
    "tail_number, event_id, event_time, carrier, origin, delay_minutes",
    """
    select tail_number, event_id, event_time, carrier, origin, delay_minutes from (
        select distinct on (tail_number) * from sent where kind = 'good'
        order by tail_number, event_time desc, event_id desc
    ) where not cancelled
    """,
    "select *",
)


def measures(
    home: Path, settings: Settings, say: Say, keys: int, later: int, size: int
) -> list[Measure]:
    """A load of so many keys, and so many deliveries of so many changes."""
    home.mkdir()
    waiting: list[Sequence[Delivered]] = [
        deliver(part, CLEAN) for part in _changes(keys, later, size)
    ]
    loads, rounds = [], []
    with own_pipelines(), running(home, waiting) as topic:
        turns = Rounds(topic, say, PRESENT)
        own = settings._replace(pipelines=PACKAGE)
        arms: dict[str, Arm] = {
            SLUICE: Published(home / "sluice", topic.brokers, own, SLUICE, pipeline=PIPELINE),
            RIVAL: Script(home / "script", topic.brokers, settings, RIVAL, "merge_by_hand.py"),
        }
        loads.append(turns.round(arms, "load", topic.publish_next(), turn=0))
        for number in range(1, later + 1):
            records = topic.publish_next()
            rounds.append(turns.round(arms, f"delivery-{number}", records, turn=number))
    work = f"present rows of {keys:,} keys"
    return [
        *costs(f"{work}, load", loads, SLUICE, {RIVAL: Target()}),
        *costs(
            f"{work}, {later} deliveries of {size:,}",
            rounds,
            SLUICE,
            {RIVAL: Target(process=1.5, cpu=1.5)},
        ),
    ]


def _changes(keys: int, later: int, size: int) -> Iterator[list[FlightEvent]]:
    """First each key once, then changes of some: one of 33 deletes, one of ten is old. None is
    older than a delete of its key in a batch before: MERGE by hand would bring the row back.
    """
    of, events = random.Random(7), flight_events_many(keys + later * size)
    yield [_of_key(event, number) for number, event in zip(range(keys), events, strict=False)]
    gone = set[int]()
    for _ in range(later):
        made = list[FlightEvent]()
        deleted = set[int]()
        for number, event in zip(range(size), events, strict=False):
            change = _changed(_of_key(event, key := of.randrange(keys)), number, gone=key in gone)
            deleted |= {key} if change.cancelled else set()
            made.append(change)
        gone |= deleted
        yield made


def _of_key(event: FlightEvent, key: int) -> FlightEvent:
    return replace(event, tail_number=f"K{key:08}", cancelled=False, delay_minutes=key % 61)


def _changed(event: FlightEvent, number: int, *, gone: bool) -> FlightEvent:
    if number % 10 == 1 and not gone:
        return replace(event, event_time=event.event_time - OLDER)
    return replace(event, cancelled=True, delay_minutes=None) if number % 33 == 0 else event
