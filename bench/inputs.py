"""Several inputs: a table beside the stream, a table as a topic, two topics joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import chained, corrected, joined, looked_up, workload
from bench.aircraft import Aircraft, flown
from bench.arms import flink_jar
from bench.own_pipelines import own_pipelines
from bench.results import Measure
from bench.rounds import Say
from bench.topic import Topic, running
from spark_jobs.settings.installation import Settings


def measures(
    home: Path, at: Settings, say: Say, loads: tuple[int, int], later: tuple[int, int]
) -> Iterator[list[Measure]]:
    """`loads`: events of each, and how often the first is repeated. `later`: deliveries, and the
    events of each.
    """
    home.mkdir()
    if flink_jar() is None:
        say("Flink is left out: `make bench` brings it")
    aircraft = Aircraft(home)
    aircraft.write()
    (events, repetitions), (count, size) = loads, later
    waiting = workload.deliveries(events, count, size, flown)
    with own_pipelines(), running(home, waiting) as topic:
        topic.publish_next()
        yield looked_up.measures(home / "lookup", at, say, topic, aircraft, repetitions)
        yield chained.measures(home / "table", at, say, topic, count)
        year = Topic(topic.brokers, home / "year", [], "flights_of_a_year")
        yield corrected.measures(home / "corrected", at, say, year, aircraft, events)
        yield joined.measures(home / "join", at, say, topic.brokers, (events, count, size))
