"""Three pipelines of one topic: a delivery that one application drains for all of them, against a
drain of each, cold and through a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import oracle, workload
from bench.arms import Drained, Sluice
from bench.oracle import Wanted
from bench.process import Cost, run
from bench.results import Measure
from bench.rounds import MOST_GIGABYTES, Round, Say, gigabytes
from bench.topic import Topic, running
from bench.warm import Warm
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.launch import submit
from spark_jobs.launch.sharing import Due

PIPELINES: Mapping[str, Wanted] = {
    "flight_events": oracle.EVENTS,
    "departure_delays": oracle.DELAYS,
    "aircraft_rotations": oracle.ROTATIONS,
}
"""Pipeline -> what its table must hold."""
TOGETHER, APART, WARM = "one application", "three drains", "three warm drains"
LOADED = 50_000
"""Flight events of the first load, which is not measured: each pipeline has state and a table."""
MOST_SHARE = 0.5
Drain = Callable[[str], Drained]
"""Drains all three, under a label."""


def measures(home: Path, settings: Settings, say: Say, count: int, size: int) -> list[Measure]:
    """So many deliveries of that size, with a broker of its own."""
    home.mkdir()
    rounds = list[Round]()
    with running(home, workload.deliveries(LOADED, count, size)) as topic:
        roots = {name: home / name.replace(" ", "-") for name in (TOGETHER, APART, WARM)}
        one, each = (Sluice(roots[name], topic.brokers, settings) for name in (TOGETHER, APART))
        warm = Warm(roots[WARM], topic.brokers, settings)
        drains: dict[str, Drain] = {
            TOGETHER: lambda label: _in_one(one, label),
            APART: lambda label: _one_by_one(each, label),
            WARM: lambda label: _one_by_one(warm, label),
        }
        topic.publish_next()
        warm.load("start")
        for name, drain in drains.items():
            drain("load")
            _hold(topic, roots[name], name)
        try:
            for number in range(1, count + 1):
                records = topic.publish_next()
                rounds.append(_round(drains, roots, topic, number, records, say))
        finally:
            warm.end()
    return _rows(f"{records:,} records for three pipelines of one topic", rounds)


def _round(
    drains: Mapping[str, Drain],
    roots: Mapping[str, Path],
    topic: Topic,
    number: int,
    records: int,
    say: Say,
) -> Round:
    """A delivery by each arm; who begins changes. Raises WrongResult."""
    names = [*drains]
    first, done = number % len(names), Round()
    for name in (*names[first:], *names[:first]):
        done[name] = drains[name](f"delivery-{number}")
        rows = _hold(topic, roots[name], name)
        cost = done[name].process
        say(
            f"together-{number}: {name} read {records:,} records for three pipelines: queries "
            f"{done[name].query_seconds:.1f} s, processes {cost.seconds:.1f} s, processors "
            f"{cost.cpu_seconds:.1f} s, {gigabytes(done[name]):.1f} GB; the {rows:,} rows of the "
            "three tables are DuckDB's"
        )
    return done


def _in_one(arm: Sluice, label: str) -> Drained:
    """By one application, as `sluice drain A B C` starts it."""
    due = [Due(name, arm.home / f"{name}-{label}.json", 0, {}) for name in PIPELINES]
    words = submit.together_command(arm.settings, due, label)
    cost = run(words, submit.environment(arm.settings), arm.home / f"{label}.log", arm.home)
    return Drained(sum(read_report(each.report).query_seconds for each in due), cost)


def _one_by_one(arm: Sluice, label: str) -> Drained:
    """By a drain of each, one after another."""
    drained = [arm.of(name).drain(f"{name}-{label}") for name in PIPELINES]
    costs = [each.process for each in drained]
    whole = Cost(
        sum(cost.seconds for cost in costs),
        sum(cost.cpu_seconds for cost in costs),
        max(cost.peak_bytes for cost in costs),
        sum(cost.unwaited_seconds for cost in costs),
    )
    return Drained(sum(each.query_seconds for each in drained), whole)


def _hold(topic: Topic, home: Path, arm: str) -> int:
    """The rows of all tables, which are DuckDB's. Raises WrongResult."""
    return sum(
        oracle.hold(
            Path(str(Paths(str(home / "root"), registry.load(name)).table)),
            topic.ledger,
            f"{arm}, {name}",
            wanted,
        )
        for name, wanted in PIPELINES.items()
    )


def _rows(work: str, rounds: list[Round]) -> list[Measure]:
    def pairs(rival: str, of: Callable[[Drained], float]) -> Iterator[list[float]]:
        return ([of(one[arm]) for one in rounds] for arm in (TOGETHER, rival))

    times: tuple[tuple[str, Callable[[Drained], float]], ...] = (
        ("process seconds", lambda done: done.process.seconds),
        ("processor seconds", lambda done: done.process.cpu_seconds),
    )
    return [
        *(
            Measure.fraction(
                f"{work}, {TOGETHER}: {what}",
                rival,
                MOST_SHARE if rival == APART else None,
                *pairs(rival, of),
            )
            for what, of in times
            for rival in (APART, WARM)
        ),
        Measure.memory(
            f"{work}, {TOGETHER}: memory, GB at most",
            APART,
            MOST_GIGABYTES,
            *pairs(APART, gigabytes),
        ),
    ]
