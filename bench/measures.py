"""What is measured, in the order in which it runs; no time counts with a wrong result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import on_cluster, oracle
from bench.arms import Arm, Baseline, Drained, Sluice
from bench.results import Measure
from bench.topic import Topic
from spark_jobs.contract.settings import Settings

Say = Callable[[str], None]
Pair = tuple[Drained, Drained]
"""Sluice's drain and the baseline's, of the same records."""


class Bench:
    """One run of all measures, below `home`."""

    def __init__(self, home: Path, topic: Topic, settings: Settings, say: Say) -> None:
        self._home = home
        self._topic = topic
        self._settings = settings
        self._say = say
        self._sluice: Sluice
        self._baseline: Baseline
        self._hadoop: Sluice
        """Sluice with Hadoop's own local file system: what setting a file's mode without a process
        gains.
        """

    def first_load(self, repetitions: int) -> list[Measure]:
        """Everything that the topic holds, from nothing, as often as is wanted; the last one's
        tables and state stay.
        """
        records = self._topic.publish_next()
        pairs = []
        for number in range(1, repetitions + 1):
            self._sluice = Sluice(
                self._home / f"sluice-{number}", self._topic.brokers, self._settings
            )
            self._baseline = Baseline(
                self._home / f"baseline-{number}", self._topic.brokers, self._settings
            )
            pairs.append(self._both(f"load-{number}", records, first_is_sluice=number % 2 == 1))
        hadoop = self._settings._replace(local_files="hadoop")
        self._hadoop = Sluice(
            self._home / "hadoop", self._topic.brokers, hadoop, "Sluice with Hadoop's local files"
        )
        self._drained(self._hadoop, "load", records)
        return [
            Measure.faster(
                f"{records:,} records, records/s, query",
                4,
                [records / s.query_seconds for s, _ in pairs],
                [records / b.query_seconds for _, b in pairs],
            ),
            Measure.faster(
                f"{records:,} records, records/s, process",
                None,
                [records / s.process.seconds for s, _ in pairs],
                [records / b.process.seconds for _, b in pairs],
            ),
            Measure.less(
                f"{records:,} records, processor seconds",
                None,
                [s.process.cpu_seconds for s, _ in pairs],
                [b.process.cpu_seconds for _, b in pairs],
            ),
            Measure.share(
                "audit and checks of the whole run",
                0.15,
                [_share(s, "audit", "checks") for s, _ in pairs],
            ),
            Measure.share(
                "lease, fingerprint and audit of it",
                0.1,
                [_share(s, "settle", "audit") for s, _ in pairs],
            ),
            Measure.memory(
                "driver and its workers, GB at most",
                4,
                [_gigabytes(s) for s, _ in pairs],
                [_gigabytes(b) for _, b in pairs],
            ),
        ]

    def deliveries(self, count: int) -> list[Measure]:
        """One delivery after another, each drained by both arms in a process of its own."""
        pairs, hadoop = [], []
        for number in range(1, count + 1):
            records = self._topic.publish_next()
            pairs.append(self._both(f"delivery-{number}", records, first_is_sluice=number % 2 == 1))
            hadoop.append(
                (pairs[-1][0], self._drained(self._hadoop, f"delivery-{number}", records))
            )
        files = "the same against Sluice with Hadoop's local files"
        what = f"{count} deliveries of {records:,} records"
        return [
            Measure.less(
                f"{what}, seconds, query",
                8,
                *_seconds(pairs, lambda drained: drained.query_seconds),
            ),
            Measure.less(
                f"{what}, seconds, process",
                2.5,
                *_seconds(pairs, lambda drained: drained.process.seconds),
            ),
            Measure.less(
                f"{what}, processor seconds",
                None,
                *_seconds(pairs, lambda drained: drained.process.cpu_seconds),
            ),
            Measure.less(
                f"{files}, seconds, process",
                None,
                *_seconds(hadoop, lambda drained: drained.process.seconds),
            ),
            Measure.less(
                f"{files}, processor seconds",
                None,
                *_seconds(hadoop, lambda drained: drained.process.cpu_seconds),
            ),
        ]

    def nothing_new(self, repetitions: int) -> list[Measure]:
        """A run that finds nothing to do, against a spark-submit of an empty script."""
        ours, theirs = [], []
        for number in range(1, repetitions + 1):
            ours.append(self._sluice.plan(f"plan-{number}").seconds)
            theirs.append(self._baseline.nothing(f"nothing-{number}").seconds)
            self._say(
                f"nothing new, {number} of {repetitions}: sluice plan {ours[-1]:.2f} s, empty "
                f"script {theirs[-1]:.2f} s"
            )
        return [
            Measure.fraction("a run with nothing new, against an empty script", 0.3, ours, theirs)
        ]

    def on_cluster(self, repetitions: int) -> list[Measure]:
        """What a cluster on this machine costs and gives."""
        return on_cluster.measures(
            self._home, self._topic, self._settings, self._drained, repetitions
        )

    def _both(self, label: str, records: int, *, first_is_sluice: bool) -> Pair:
        arms: Sequence[Arm] = (
            (self._sluice, self._baseline) if first_is_sluice else (self._baseline, self._sluice)
        )
        drained: dict[str, Drained] = {}
        for arm in arms:
            drained[arm.name] = self._drained(arm, label, records)
        return drained[self._sluice.name], drained[self._baseline.name]

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


def _seconds(pairs: list[Pair], of: Callable[[Drained], float]) -> Iterator[list[float]]:
    """Of Sluice, then of the baseline."""
    return ([of(pair[arm]) for pair in pairs] for arm in (0, 1))


def _share(drained: Drained, *phases: str) -> float:
    """The share of the process that phases took.

    Most of the audit is beside the query; settle is lease and fingerprint.
    """
    assert drained.report is not None  # Sluice's arm always has one
    return sum(drained.report.seconds[phase] for phase in phases) / drained.process.seconds


def _gigabytes(drained: Drained) -> float:
    return drained.process.peak_bytes / 2**30
