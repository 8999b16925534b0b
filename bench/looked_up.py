"""A Lookup as of the event's time over 100,000 rows: the first load with it, against the same load
without, against a broadcast join by hand (lookup_by_hand.py), and against Flink's temporal join.
"""

from __future__ import annotations

from pathlib import Path

from bench.aircraft import Aircraft
from bench.arms import Arm, FlinkSql, Script, Sluice, flink_jar
from bench.oracle import DELAYS, Wanted
from bench.own_pipelines import PACKAGE
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, costs, growth
from bench.topic import Topic
from spark_jobs.settings.installation import Settings

WITH, WITHOUT, RIVAL = "Sluice", "Sluice without the Lookup", "broadcast join by hand"
FLINK = "Flink's temporal join"
TARGET = Target(cpu=1.1)


def measures(
    home: Path, at: Settings, say: Say, topic: Topic, aircraft: Aircraft, repetitions: int
) -> list[Measure]:
    """So many loads of what the topic holds, each from nothing."""
    home.mkdir()
    turns, rounds = Rounds(topic, say), []
    own = at._replace(pipelines=PACKAGE)
    if flink_jar():
        aircraft.write_lines()
    for number in range(1, repetitions + 1):
        made: list[Arm] = [
            Sluice(home / f"with-{number}", topic.brokers, own, WITH, pipeline="delays_with_seats"),
            Sluice(home / f"without-{number}", topic.brokers, own, WITHOUT),
            Script(
                home / f"script-{number}",
                topic.brokers,
                at,
                RIVAL,
                "lookup_by_hand.py",
                aircraft=str(aircraft.table),
            ),
        ]
        for arm in (made[0], made[2]):
            arm.wanted = wanted(aircraft)
        if flink_jar():
            flink = FlinkSql(
                home / f"flink-{number}",
                topic.brokers,
                at,
                FLINK,
                "lookup",
                beside=str(aircraft.lines),
            )
            flink.wanted = wanted(aircraft, closed=False)
            made.append(flink)
        arms = {arm.name: arm for arm in made}
        rounds.append(turns.round(arms, f"load-{number}", topic.sent, turn=number))
    work = f"{topic.sent:,} records, looked up in 100,000 rows"
    rivals = {name: Target() for name in arms if name not in {WITH, WITHOUT}}
    return [
        *growth(work, rounds, WITH, WITHOUT, TARGET),
        *costs(work, rounds, WITH, rivals),
    ]


def wanted(aircraft: Aircraft, *, closed: bool = True) -> Wanted:
    """As of DELAYS, with the seats as of each flight's time. `closed`: by the watermark."""
    query = f"""
        with departures as (
            select distinct on (event_id) event_time, carrier, origin, delay_minutes, cancelled,
                tail_number
            from sent where kind in ('good', 'duplicate') and event_type = 'departure'
        ), windows as (
        select time_bucket(interval 1 hour, event_time) as window_start,
            window_start + interval 1 hour as window_end, carrier, origin,
            count(*) as flights, avg(delay_minutes) as mean_delay_minutes,
            max(delay_minutes) as max_delay_minutes, count(*) filter (cancelled) as cancellations,
            sum(seats)::bigint as seats
        from departures d left join read_parquet('{aircraft.file}') a
            on a.tail_number = d.tail_number and (valid_from is null or valid_from <= event_time)
            and (valid_to is null or event_time < valid_to)
        group by all
        )
        select * from windows
    """
    if closed:
        query += "where window_end <= (select max(event_time) - interval 2 hours from departures)"
    return Wanted(f"{DELAYS.columns}, seats", query, DELAYS.rounded)
