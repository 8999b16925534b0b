"""Two topics joined: departures with their arrivals, against a join of two streams by hand
(join_by_hand.py), and against Flink's interval join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from bench.arms import Arm, FlinkSql, Script, Sluice, flink_jar
from bench.oracle import Wanted
from bench.own_pipelines import PACKAGE
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, costs
from bench.topic import Topic
from bench.workload import delivered
from local.deliveries import Delivered
from local.flights import FlightEvent, flight_events_many
from local.ledger import PAYLOAD
from spark_jobs.settings.installation import Settings

SLUICE, RIVAL = "Sluice", "stream join by hand"
FLINK = "Flink's interval join"
LEFT, RIGHT = "departures", "arrivals"
_FOUND: Final = [name for name in PAYLOAD if name != "event_id"]
_COLUMNS: Final = ", ".join([*PAYLOAD, *(f"arrival_{name}" for name in _FOUND)])
_ARRIVAL: Final = ", ".join(f"a.{name} as arrival_{name}" for name in _FOUND)
_FLOWN: Final = f"""
    with once as (
        select distinct on (event_type, event_id) * from sent where kind in ('good', 'duplicate')
    ), closed as (
        select min(last) - interval 20 hours as at
        from (select max(event_time) as last from once group by event_type)
    ), flown as (
        select {", ".join(f"d.{name}" for name in PAYLOAD)}, {_ARRIVAL}
        from (from once where event_type = 'departure') d
        left join (from once where event_type = 'arrival') a on a.event_id = d.event_id
            and a.event_time between d.event_time and d.event_time + interval 18 hours
    )
    select flown.* from flown
"""
FLOWN: Final = Wanted(
    _COLUMNS,
    f"{_FLOWN}, closed where arrival_event_time is not null or event_time < closed.at",
    "select *",
)
"""Each pair; and a departure without an arrival once the watermark, two hours behind, has passed
the 18 hours in which one could come.
"""
ALL_FLOWN: Final = FLOWN._replace(query=_FLOWN)
"""Of who waits for no arrival at its end."""


class Interval(FlinkSql):
    """It writes lines, and no table, while its clock runs."""

    wanted: Wanted | None = ALL_FLOWN
    rows = """
        select * replace (
            event_time::timestamptz as event_time,
            scheduled_time::timestamptz as scheduled_time,
            arrival_event_time::timestamptz as arrival_event_time,
            arrival_scheduled_time::timestamptz as arrival_scheduled_time
        ) from lines
    """


def measures(
    home: Path, at: Settings, say: Say, brokers: str, sizes: tuple[int, int, int]
) -> list[Measure]:
    """`sizes`: events of the load, deliveries, events of each."""
    home.mkdir()
    _, later, _ = sizes
    left, right = topics(home, brokers, sizes)
    turns = Rounds(left, say, FLOWN)
    own = at._replace(pipelines=PACKAGE)
    arms: dict[str, Arm] = {
        SLUICE: Sluice(home / "sluice", brokers, own, SLUICE, pipeline="flown"),
        RIVAL: Script(
            home / "script", brokers, at, RIVAL, "join_by_hand.py", topic=LEFT, arrivals=RIGHT
        ),
    }
    records = left.publish_next() + right.publish_next()
    flink: dict[str, Arm] = {}
    if flink_jar():
        words = {"topic": LEFT, "beside": RIGHT}
        flink[FLINK] = Interval(home / "flink", brokers, at, FLINK, "join", **words)
    loads, rounds, came = [turns.round(arms | flink, "load", records, turn=0)], [], 0
    for number in range(1, later + 1):
        came = left.publish_next() + right.publish_next()
        rounds.append(turns.round(arms, f"delivery-{number}", came, turn=number))
    found = costs(
        f"{records:,} records of two topics, joined",
        loads,
        SLUICE,
        dict.fromkeys((RIVAL, *flink), Target()),
    )
    if rounds:
        work = f"{later} deliveries of {came:,} records of two topics, joined"
        found += costs(work, rounds, SLUICE, {RIVAL: Target()})
    return found


def topics(home: Path, brokers: str, sizes: tuple[int, int, int]) -> tuple[Topic, Topic]:
    """Their deliveries are cut at the same times, and their ledger is one."""
    first, later, size = sizes
    every = [*flight_events_many(first + later * size)]
    cuts = [every[first + number * size].event_time for number in range(later)]
    ledger = home / "ledger"
    left, right = (
        Topic(brokers, ledger, _cut([_named(e) for e in every if e.event_type == kind], cuts), name)
        for kind, name in (("departure", LEFT), ("arrival", RIGHT))
    )
    right.number_from(later + 1)
    return left, right


def _cut(events: list[FlightEvent], cuts: Sequence[datetime]) -> list[Sequence[Delivered]]:
    records = delivered(events)
    ends = [sum(record.kafka_timestamp < cut for record in records) for cut in cuts]
    return [records[start:end] for start, end in pairwise([0, *ends, len(records)])]


def _named(event: FlightEvent) -> FlightEvent:
    """By the flight's id alone."""
    return replace(event, event_id=event.event_id.rpartition("-")[0])
