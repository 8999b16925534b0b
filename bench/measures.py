"""What is measured, in the order in which it runs; no time counts with a wrong result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from bench import on_cluster, oracle
from bench.arms import Arm, Drained, Script, Sluice
from bench.results import Measure
from bench.topic import Topic
from spark_jobs.contract.settings import Settings

Say = Callable[[str], None]
Round = dict[str, Drained]
"""The drains of the same records, one for each arm, by the arm's name."""
SLUICE, EXPERT, GUIDE, BATCH = "Sluice", "expert's script", "guide's script", "Spark batch"
HADOOP = "Sluice with Hadoop's local files"
"""What setting a file's mode without a process gains."""
SCRIPTS = {EXPERT: "expert.py", GUIDE: "baseline.py", BATCH: "batch.py"}


class Bench:
    """One run of all measures, below `home`."""

    def __init__(self, home: Path, topic: Topic, settings: Settings, say: Say) -> None:
        self._home = home
        self._topic = topic
        self._settings = settings
        self._say = say
        self._arms: dict[str, Arm] = {}
        """The last that were made: their tables and state stay for the deliveries."""

    def first_load(self, repetitions: int) -> list[Measure]:
        """Everything that the topic holds, from nothing, as often as is wanted."""
        records = self._topic.publish_next()
        rounds = []
        for number in range(1, repetitions + 1):
            self._arms = {name: self._arm(name, number) for name in (SLUICE, EXPERT, GUIDE, BATCH)}
            rounds.append(self._round(f"load-{number}", records, turn=number))
        del self._arms[BATCH]  # it resumes nothing
        self._arms[HADOOP] = self._arm(HADOOP, 1)
        self._drained(self._arms[HADOOP], "load", records)
        work = f"{records:,} records"
        return [
            *(
                measure
                for rival, target in ((EXPERT, 1.6), (GUIDE, 5.0), (BATCH, None))
                for measure in (
                    Measure.less(
                        f"{work}, seconds, query",
                        rival,
                        target,
                        *_of(rounds, rival, lambda drained: drained.query_seconds),
                    ),
                    Measure.less(
                        f"{work}, seconds, process",
                        rival,
                        None,
                        *_of(rounds, rival, lambda drained: drained.process.seconds),
                    ),
                )
            ),
            *(
                Measure.less(
                    f"{work}, processor seconds",
                    rival,
                    target,
                    *_of(rounds, rival, lambda drained: drained.process.cpu_seconds),
                )
                for rival, target in ((EXPERT, 1.6), (GUIDE, 5.0), (BATCH, 1.0))
            ),
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
            Measure.memory(
                "driver and its workers, GB at most", EXPERT, 3, *_of(rounds, EXPERT, _gigabytes)
            ),
        ]

    def deliveries(self, count: int) -> list[Measure]:
        """One delivery after another, each drained by every arm in a process of its own."""
        rounds = []
        for number in range(1, count + 1):
            records = self._topic.publish_next()
            rounds.append(self._round(f"delivery-{number}", records, turn=number))
        work = f"{count} deliveries of {records:,} records"
        return [
            Measure.less(f"{work}, {what}", rival, targets.get(rival), *_of(rounds, rival, of))
            for what, of, targets in (
                ("seconds, query", lambda drained: drained.query_seconds, {GUIDE: 8.0}),
                (
                    "seconds, process",
                    lambda drained: drained.process.seconds,
                    {EXPERT: 2.2, GUIDE: 2.5},
                ),
                ("processor seconds", lambda drained: drained.process.cpu_seconds, {}),
            )
            for rival in (EXPERT, GUIDE, HADOOP)
        ]

    def nothing_new(self, repetitions: int) -> list[Measure]:
        """A run that finds nothing to do, against a spark-submit of an empty script."""
        sluice, script = self._arms[SLUICE], self._arms[GUIDE]
        assert isinstance(sluice, Sluice)
        assert isinstance(script, Script)
        ours, theirs = [], []
        for number in range(1, repetitions + 1):
            ours.append(sluice.plan(f"plan-{number}").seconds)
            theirs.append(script.nothing(f"nothing-{number}").seconds)
            self._say(
                f"nothing new, {number} of {repetitions}: sluice plan {ours[-1]:.2f} s, empty "
                f"script {theirs[-1]:.2f} s"
            )
        return [
            Measure.fraction(
                "a run with nothing new, seconds", "empty spark-submit", 0.25, ours, theirs
            )
        ]

    def on_cluster(self, repetitions: int) -> list[Measure]:
        """What a cluster on this machine costs and gives."""
        return on_cluster.measures(
            self._home, self._topic, self._settings, self._drained, repetitions
        )

    def _arm(self, name: str, number: int) -> Arm:
        home = self._home / f"{name.replace(' ', '-')}-{number}"
        if name in SCRIPTS:
            return Script(home, self._topic.brokers, self._settings, name, SCRIPTS[name])
        files = self._settings.local_files if name == SLUICE else "hadoop"
        there = self._settings._replace(local_files=files)
        return Sluice(home, self._topic.brokers, there, name)

    def _round(self, label: str, records: int, *, turn: int) -> Round:
        """A drain by each arm; who begins changes with the turn."""
        names = [*self._arms]
        first = turn % len(names)
        return {
            name: self._drained(self._arms[name], label, records)
            for name in (*names[first:], *names[:first])
        }

    def _drained(self, arm: Arm, label: str, records: int) -> Drained:
        """A drain whose table is DuckDB's."""
        done = arm.drain(label)
        rows = oracle.hold(arm.table, self._topic.ledger, arm.name)
        self._say(
            f"{label}: {arm.name} read {records:,} records: query {done.query_seconds:.1f} s, "
            "process "
            f"{done.process.seconds:.1f} s, processors {done.process.cpu_seconds:.0f} s, "
            f"{_gigabytes(done):.1f} GB; "
            f"its {rows:,} rows are DuckDB's"
        )
        return done


def _of(rounds: list[Round], rival: str, of: Callable[[Drained], float]) -> Iterator[list[float]]:
    """Of Sluice, then of the rival."""
    return ([of(one[arm]) for one in rounds] for arm in (SLUICE, rival))


def _share(drained: Drained, *phases: str) -> float:
    """The share of the process that phases took.

    Most of the audit is beside the query; settle is lease and fingerprint.
    """
    assert drained.report is not None  # Sluice's arm always has one
    return sum(drained.report.seconds[phase] for phase in phases) / drained.process.seconds


def _gigabytes(drained: Drained) -> float:
    return drained.process.peak_bytes / 2**30
