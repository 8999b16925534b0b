"""Rounds: in each of them every arm drains the same records, one arm after another; a drain counts
only if its table is then DuckDB's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bench import oracle
from bench.arms import Arm, Drained
from bench.oracle import Wanted
from bench.results import Measure
from bench.topic import Topic

Say = Callable[[str], None]
Round = dict[str, Drained]
"""The drains of the same records, one for each arm, by the arm's name."""
MOST_GIGABYTES = 3


class Target(NamedTuple):
    """What Sluice is to reach against one rival; None: nothing was promised."""

    query: float | None = None
    process: float | None = None
    cpu: float | None = None


class Time(NamedTuple):
    """One of the times that a drain takes."""

    what: str
    of: Callable[[Drained], float]
    target: Callable[[Target], float | None]


TIMES = (
    Time("query seconds", lambda done: done.query_seconds, lambda target: target.query),
    Time("process seconds", lambda done: done.process.seconds, lambda target: target.process),
    Time("processor seconds", lambda done: done.process.cpu_seconds, lambda target: target.cpu),
)


class Rounds:
    """Drains of one topic."""

    def __init__(self, topic: Topic, say: Say, wanted: Wanted = oracle.DELAYS) -> None:
        self._topic = topic
        self._say = say
        self._wanted = wanted

    def round(self, arms: Mapping[str, Arm], label: str, records: int, *, turn: int) -> Round:
        """A drain by each arm; who begins changes with the turn."""
        names = [*arms]
        first = turn % len(names)
        return {
            name: self.drained(arms[name], label, records)
            for name in (*names[first:], *names[:first])
        }

    def drained(self, arm: Arm, label: str, records: int) -> Drained:
        """A drain whose table is DuckDB's. Raises WrongResult."""
        done = arm.drain(label)
        rows = oracle.hold(arm.table, self._topic.ledger, arm.name, arm.wanted or self._wanted)
        cost = done.process
        batches = "" if done.batches is None else f" in {done.batches} batches"
        self._say(
            f"{label}: {arm.name} read {records:,} records{batches}: query "
            f"{done.query_seconds:.1f} s, process {cost.seconds:.1f} s, processors "
            f"{cost.cpu_seconds:.1f} s ({cost.unwaited_seconds:.1f} of them by looking alone), "
            f"{gigabytes(done):.1f} GB; its {rows:,} rows are DuckDB's"
        )
        return done


def costs(
    work: str, rounds: list[Round], ours: str, targets: Mapping[str, Target]
) -> list[Measure]:
    """What each round cost Sluice's arm `ours` and each rival of `targets`: seconds of the query
    and of the process, processor seconds, memory.
    """
    return [
        *(
            Measure.less(
                f"{work}: {time.what}",
                rival,
                time.target(target),
                *_pairs(rounds, ours, rival, time.of),
            )
            for time in TIMES
            for rival, target in targets.items()
        ),
        *(memory(work, rounds, ours, rival) for rival in targets),
    ]


def growth(work: str, rounds: list[Round], ours: str, before: str, target: Target) -> list[Measure]:
    """The times of arm `ours` over those of arm `before` in each round: the same work, with less
    behind it.
    """
    return [
        Measure.fraction(
            f"{work}: {time.what}",
            before,
            time.target(target),
            *_pairs(rounds, ours, before, time.of),
        )
        for time in TIMES
    ]


def memory(work: str, rounds: list[Round], ours: str, rival: str) -> Measure:
    """Of all processes of a drain, in each round."""
    sides = _pairs(rounds, ours, rival, gigabytes)
    return Measure.memory(f"{work}: memory, GB at most", rival, MOST_GIGABYTES, *sides)


def _pairs(
    rounds: list[Round], ours: str, rival: str, of: Callable[[Drained], float]
) -> Iterator[list[float]]:
    return ([of(one[arm]) for one in rounds] for arm in (ours, rival))


def gigabytes(drained: Drained) -> float:
    """The most memory of all its processes."""
    return drained.process.peak_bytes / 2**30
