"""Python group state: a tally for each key, by Sluice's two forms of a StatefulProcessor, by its
buckets and by Spark's row API with the same logic (row_state.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench import oracle
from bench.arms import Arm, Script, Sluice
from bench.own_pipelines import PACKAGE, own_pipelines
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, costs
from bench.topic import running
from local.deliveries import CLEAN, deliver
from local.flights import FlightEvent, flight_events_many
from spark_jobs.settings.installation import Settings

ROWS, FRAMES, RIVAL = "Sluice, rows", "Sluice, frames", "Spark's row API"
BUCKETS = "Sluice, buckets"
FORMS = {ROWS: "tallies", FRAMES: "tallies_in_frames", BUCKETS: "tallies_in_buckets"}
"""Arm -> pipeline of bench/pipelines."""
MANY, FEW = 10, 1_000
"""Records of each of many keys; how many the few keys are."""
TARGET = Target(query=5.0)
"""For many keys, in the form that is for them."""


def measures(
    home: Path, settings: Settings, say: Say, records: int, repetitions: int
) -> list[Measure]:
    """So many rounds over about so many records of many keys, then of few; a broker for each."""
    home.mkdir()
    shapes = {
        "many": (max(1, records // MANY), MANY, TARGET),
        "few": (FEW, max(1, records // FEW), Target()),
    }
    found = []
    for name, (keys, each, target) in shapes.items():
        here = home / name
        here.mkdir()
        delivery = deliver(events(keys, each), CLEAN)
        rounds = []
        with own_pipelines(), running(here, [delivery]) as topic:
            turns = Rounds(topic, say, oracle.TALLIES)
            topic.publish_next()
            for number in range(1, repetitions + 1):
                arms = _arms(here / str(number), topic.brokers, settings)
                label = f"{name}-keys-{number}"
                rounds.append(turns.round(arms, label, len(delivery), turn=number))
        work = f"group state, {keys:,} keys x {each:,} records"
        for form in FORMS:
            title = f"{work}, {form.removeprefix('Sluice, ')}"
            aim = target if form == BUCKETS else Target()
            found += costs(title, rounds, form, {RIVAL: aim})
    return found


def events(keys: int, each: int) -> Iterator[FlightEvent]:
    """So many events of each key, the keys in turn. A key is a tail number."""
    for number, event in enumerate(flight_events_many(keys * each)):
        yield replace(event, tail_number=f"K{number % keys:06}", delay_minutes=number % 61)


def _arms(home: Path, brokers: str, settings: Settings) -> dict[str, Arm]:
    home.mkdir()
    own = settings._replace(pipelines=PACKAGE)
    return {
        **{
            name: Sluice(home / pipeline, brokers, own, name, pipeline=pipeline)
            for name, pipeline in FORMS.items()
        },
        RIVAL: Script(home / "script", brokers, settings, RIVAL, "row_state.py"),
    }
