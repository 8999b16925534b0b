"""Deliveries over few and many keys of state: the same pipeline with three delays of its watermark,
each over a topic of its own that begins as many hours before the deliveries as its state keeps.

An hour has as many departures as a delivery, and each delivery is the next hour: it brings as many
keys as leave the state.
"""

from __future__ import annotations

from pathlib import Path

from bench import hourly, oracle
from bench.arms import Arm, Script, Sluice
from bench.measures import EXPERT, SLUICE
from bench.own_pipelines import PACKAGE, own_pipelines
from bench.results import Measure
from bench.rounds import Round, Rounds, Say, Target, costs, growth
from bench.topic import Topic, running
from spark_jobs.messages.report import StateUse
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings

HOURS = (5, 50, 200)
"""Of ids in the state; each has a pipeline in bench/pipelines."""
TARGET = Target(query=1.25)
"""Of a delivery over the most keys, held against one over the fewest."""
NEAR = 0.05
"""The state has that many keys, give or take this share."""


class Keys:
    """One number of keys: its topic, and the arms that drain it."""

    def __init__(
        self, home: Path, brokers: str, settings: Settings, hours: int, each: int, say: Say
    ) -> None:
        name = f"keys_of_{hours}_hours"
        spec = registry.load(name)
        delay = spec.watermark_delay
        assert delay
        self.hours = hours
        self.count = hours * each
        self.topic = Topic(brokers, home / f"ledger-{hours}", [], spec.topic.name)
        self.sluice, self.expert = (f"{arm}, {self.count:,} keys" for arm in (SLUICE, EXPERT))
        own = settings._replace(pipelines=PACKAGE)
        self._arms: dict[str, Arm] = {
            self.sluice: Sluice(home / f"sluice-{hours}", brokers, own, self.sluice, pipeline=name),
            self.expert: Script(
                home / f"expert-{hours}",
                brokers,
                settings,
                self.expert,
                "expert.py",
                topic=spec.topic.name,
                delay=f"{delay.total_seconds():.0f} seconds",
            ),
        }
        self._turns = Rounds(self.topic, say, oracle.delays(delay))

    def round(self, label: str, records: int, turn: int) -> Round:
        """A drain by each arm, over the state that was asked for."""
        done = self._turns.round(self._arms, label, records, turn=turn)
        report = done[self.sluice].report
        assert report is not None  # Sluice's arm always has one
        hold_keys(report.state, self.count)
        return done


def measures(
    home: Path, settings: Settings, say: Say, each: int, repetitions: int
) -> list[Measure]:
    """So many deliveries of so many departures over each number of keys, which take turns."""
    home.mkdir()
    with own_pipelines(), running(home, []) as broker:
        sets = [Keys(home, broker.brokers, settings, hours, each, say) for hours in HOURS]
        _published(sets, each, say)
        load: Round = {}
        for number, keys in enumerate(sets):
            load |= keys.round("load", keys.topic.sent, number)
        loaded = sets[-1].topic.sent
        rounds = []
        for number in range(1, repetitions + 1):
            records = hourly.delivery(max(HOURS) + number - 1, each)
            done: Round = {}
            first = number % len(sets)
            for keys in (*sets[first:], *sets[:first]):
                keys.topic.publish(records)
                done |= keys.round(f"delivery-{number}", len(records), number)
            rounds.append(done)
    work = f"{loaded:,} records, about {sets[-1].count:,} keys"
    return [
        *_rows(sets, rounds, len(records)),
        *costs(work, [load], sets[-1].sluice, {sets[-1].expert: Target()}),
    ]


def hold_keys(state: StateUse, count: int) -> None:
    """Raises RuntimeError unless the state has about so many keys: the open windows are none."""
    found = state.rows - state.open
    if abs(found - count) > NEAR * count:
        message = f"not the state that was asked for: {found:,} keys, and not {count:,}"
        raise RuntimeError(message)


def _published(sets: list[Keys], each: int, say: Say) -> None:
    """Publish the hours before the deliveries: of each topic the last ones, as many as it has."""
    few, most = min(HOURS), max(HOURS)
    for first in range(0, most, few):
        records = [
            record for hour in range(first, first + few) for record in hourly.delivery(hour, each)
        ]
        for keys in sets:
            if first >= most - keys.hours:
                keys.topic.publish(records)
    say(f"published {' and '.join(f'{keys.topic.sent:,}' for keys in sets)} records")


def _rows(sets: list[Keys], rounds: list[Round], records: int) -> list[Measure]:
    """Each number of keys against the expert's script, and then against the fewest."""
    few, *_, most = sets
    work = f"{len(rounds)} deliveries of {records:,} records over"
    against = [
        row
        for keys in sets
        for row in costs(
            f"{work} {keys.count:,} keys", rounds, keys.sluice, {keys.expert: Target()}
        )
    ]
    grown = [
        row
        for keys in sets[1:]
        for row in growth(
            f"{work} {keys.count:,} keys",
            rounds,
            keys.sluice,
            few.sluice,
            TARGET if keys is most else Target(),
        )
    ]
    return [*against, *grown]
