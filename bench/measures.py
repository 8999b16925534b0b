"""What is measured over the topic of flights, in the order in which it runs; no time counts with a
wrong result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from bench import on_cluster
from bench.arms import Arm, Drained, Flink, Program, Script, Sluice, flink_jar
from bench.process import Cost
from bench.results import Measure
from bench.rounds import MOST_GIGABYTES, Rounds, Say, Target, costs
from bench.topic import Topic
from bench.warm import Warm
from spark_jobs.settings.installation import Settings

SLUICE, EXPERT, GUIDE = "Sluice", "expert's script", "guide's script"
BATCH, LIMIT, FLINK = "Spark batch", "DuckDB", "Flink SQL"
SMALL = "small script"
"""Around DuckDB, with offsets and state."""
HADOOP = "Sluice with Hadoop's local files"
"""What setting a file's mode without a process gains."""
WARM = "Sluice, warm"
"""Drains through a worker, which keeps its JVM."""
SCRIPTS = {EXPERT: "expert.py", GUIDE: "baseline.py", BATCH: "batch.py"}
PROGRAMS = {LIMIT: "duck.py", SMALL: "small.py"}
FROM_NOTHING = (BATCH, LIMIT, FLINK)
"""They resume nothing: a delivery would be the whole topic again."""


class Bench:
    """One run of all measures, below `home`."""

    def __init__(self, home: Path, topic: Topic, settings: Settings, say: Say) -> None:
        self._home = home
        self._topic = topic
        self._settings = settings
        self._say = say
        self._turns = Rounds(topic, say)
        self._arms: dict[str, Arm] = {}
        """The last that were made: their tables and state stay for the deliveries."""

    def first_load(self, repetitions: int) -> list[Measure]:
        """Everything that the topic holds, from nothing, as often as is wanted."""
        targets = {
            EXPERT: Target(cpu=2.5),
            GUIDE: Target(query=5.0, cpu=5.0),
            BATCH: Target(cpu=1.0),
            LIMIT: Target(),
            SMALL: Target(cpu=0.2),
            FLINK: Target(cpu=1.3),
        }
        if flink_jar() is None:
            self._say("Flink is left out: `make bench` brings it")
            del targets[FLINK]
        records = self._topic.publish_next()
        rounds = []
        for number in range(1, repetitions + 1):
            self._arms = {name: self._arm(name, number) for name in (SLUICE, *targets)}
            rounds.append(self._turns.round(self._arms, f"load-{number}", records, turn=number))
        self._arms = {name: arm for name, arm in self._arms.items() if name not in FROM_NOTHING}
        work = f"{records:,} records"
        return [
            *costs(work, rounds, SLUICE, targets),
            Measure.share(
                "audit and checks of the whole run",
                0.15,
                [_share(one[SLUICE], "audit", "checks") for one in rounds],
            ),
            Measure.share(
                "lease, fingerprint and audit of it",
                0.1,
                [_share(one[SLUICE], "settle", "audit") for one in rounds],
            ),
        ]

    def deliveries(self, count: int) -> list[Measure]:
        """One delivery after another, each drained by every arm in a process of its own, and by
        Sluice through a worker too.
        """
        self._arms[HADOOP] = self._arm(HADOOP, 1)
        self._turns.drained(self._arms[HADOOP], "load", self._topic.sent)
        warm = self._warm()
        rounds = []
        try:
            for number in range(1, count + 1):
                records = self._topic.publish_next()
                label = f"delivery-{number}"
                arms = self._arms | {WARM: warm}
                rounds.append(self._turns.round(arms, label, records, turn=number))
        finally:
            warm.end()
        targets = {
            EXPERT: Target(process=3.0, cpu=3.5),
            GUIDE: Target(query=8.0, process=2.5),
            SMALL: Target(),
            HADOOP: Target(),
        }
        work = f"{count} deliveries of {records:,} records"
        against = {EXPERT: Target(process=12.0, cpu=15.0), SLUICE: Target()}
        return [
            *costs(f"{work}, cold", rounds, SLUICE, targets),
            *costs(f"{work}, warm", rounds, WARM, against),
        ]

    def nothing_new(self, repetitions: int) -> list[Measure]:
        """A run that finds nothing to do, against a spark-submit of an empty script."""
        sluice, script = self._arms[SLUICE], self._arms[GUIDE]
        assert isinstance(sluice, Sluice)
        assert isinstance(script, Script)
        ours, theirs = [], []
        for number in range(1, repetitions + 1):
            ours.append(sluice.plan(f"plan-{number}"))
            theirs.append(script.nothing(f"nothing-{number}"))
            self._say(
                f"nothing new, {number} of {repetitions}: sluice plan {ours[-1].seconds:.2f} s, "
                f"empty script {theirs[-1].seconds:.2f} s"
            )
        work, rival = "a run with nothing new", "empty spark-submit"

        def pairs(of: Callable[[Cost], float]) -> Iterator[list[float]]:
            return ([of(cost) for cost in side] for side in (ours, theirs))

        return [
            Measure.fraction(
                f"{work}: process seconds", rival, 0.25, *pairs(lambda cost: cost.seconds)
            ),
            Measure.fraction(
                f"{work}: processor seconds", rival, 0.15, *pairs(lambda cost: cost.cpu_seconds)
            ),
            Measure.memory(
                f"{work}: memory, GB at most",
                rival,
                MOST_GIGABYTES,
                *pairs(lambda cost: cost.peak_bytes / 2**30),
            ),
        ]

    def on_cluster(self, repetitions: int) -> list[Measure]:
        """What a cluster on this machine costs and gives."""
        return on_cluster.measures(
            self._home, self._topic, self._settings, self._turns.drained, repetitions
        )

    def _warm(self) -> Warm:
        """Its worker has drained what the topic holds, which was its start."""
        home = self._home / "Sluice-warm"
        warm = Warm(home, self._topic.brokers, self._settings, WARM)
        warm.load("load")
        return warm

    def _arm(self, name: str, number: int) -> Arm:
        home = self._home / f"{name.replace(' ', '-')}-{number}"
        brokers = self._topic.brokers
        if name == FLINK:
            return Flink(home, brokers, self._settings, name)
        if name in PROGRAMS:
            return Program(home, brokers, self._settings, name, PROGRAMS[name])
        if name in SCRIPTS:
            return Script(home, brokers, self._settings, name, SCRIPTS[name])
        files = self._settings.local_files if name == SLUICE else "hadoop"
        return Sluice(home, brokers, self._settings._replace(local_files=files), name)


def _share(drained: Drained, *phases: str) -> float:
    """The share of the process that phases took.

    Most of the audit is beside the query; settle is lease and fingerprint.
    """
    assert drained.report is not None  # Sluice's arm always has one
    return sum(drained.report.seconds[phase] for phase in phases) / drained.process.seconds
