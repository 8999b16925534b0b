"""What runs leave behind, and what that costs the next one: a run after many short ones against a
run after one, and the same with thousands of batches in the ops tables.

The three roots read the same records and have the same state. One has drained each delivery, the
others all at once. The history is of before a reset; its last week is in a commit a run, as the
next `sluice maintain` finds it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from bench import workload
from bench.arms import Arm, Sluice
from bench.history import History
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, growth, memory
from bench.topic import Topic, running
from bench.warm import Warm
from spark_jobs.settings.installation import Settings

SIZE = 200
"""Flight events of a delivery: so few that what a run costs anyway is most of its time."""
FEW = 50
"""Batches of the short history."""
WRITES = 25
"""Pairs of a run's writes."""
LATER = Target(query=1.1, process=1.1)
LONGER = Target(process=1.2)


class Past(NamedTuple):
    """How much is behind a run."""

    runs: int
    """The one that is measured is the last of them."""
    batches: int
    """In the ops tables."""


def measures(home: Path, settings: Settings, say: Say, past: Past, rounds: int) -> list[Measure]:
    """So many rounds of drains, by a process each, with a broker of their own; then the writes of a
    run alone.
    """
    home.mkdir()
    many = History(home / "many")
    many.age(past.batches)
    say(f"wrote {past.batches:,} batches of history")
    with running(home, workload.deliveries(SIZE, past.runs - 2 + rounds, SIZE)) as topic:
        found = _drains(topic, home, settings, say, past, rounds)
    return [*found, *_writes(many, History(home / "few"), say, WRITES if rounds > 1 else 5)]


def _drains(
    topic: Topic, home: Path, settings: Settings, say: Say, past: Past, rounds: int
) -> list[Measure]:
    later, second = f"Sluice, run {past.runs}", "Sluice, run 2"
    longer = f"Sluice, {past.batches:,} batches of history"
    homes = {later: home / "later", second: home / "second", longer: home / "longer"}
    _filled(Warm(homes[later], topic.brokers, settings, later), topic, past.runs - 1)
    say(f"drained {past.runs - 1} deliveries, {topic.sent:,} records")
    shutil.copytree(home / "many", homes[longer] / "root")
    arms: dict[str, Arm] = {
        name: Sluice(folder, topic.brokers, settings, name) for name, folder in homes.items()
    }
    turns = Rounds(topic, say)
    for name in (second, longer):
        turns.drained(arms[name], "first", topic.sent)
    done = []
    for number in range(1, rounds + 1):
        records = topic.publish_next()
        done.append(turns.round(arms, f"run-{number}", records, turn=number))
    works = {
        later: (f"{_numbers(past.runs, rounds)} of {SIZE} events", LATER),
        longer: (f"a run of {SIZE} events, {past.batches:,} batches of history", LONGER),
    }
    return [
        row
        for name, (work, target) in works.items()
        for row in (
            *growth(work, done, name, second, target),
            memory(work, done, name, second),
        )
    ]


def _filled(warm: Warm, topic: Topic, runs: int) -> None:
    """Drain so many deliveries one by one, through a worker, which takes less time."""
    try:
        for number in range(1, runs + 1):
            topic.publish_next()
            warm.load(f"fill-{number}")
    finally:
        warm.end()


def _writes(many: History, few: History, say: Say, pairs: int) -> list[Measure]:
    """Milliseconds of a run's writes: a week after `sluice maintain`, and right after it."""
    few.grow(FEW)
    work, against = f"a run's writes, {many.batches:,} batches", f"{FEW} batches"

    def row(when: str) -> Measure:
        found = [(many.run() * 1000, few.run() * 1000) for _ in range(pairs)]
        return Measure.fraction(
            f"{work}, {when}: milliseconds", against, None, *map(list, zip(*found, strict=True))
        )

    before = row("a week after maintain")
    seconds = many.maintain()
    few.maintain()  # or joined files would stand against single commits
    say(f"maintained in {seconds:.1f} s")
    return [before, row("right after maintain")]


def _numbers(runs: int, rounds: int) -> str:
    return f"run {runs}" if rounds == 1 else f"runs {runs} to {runs + rounds - 1}"
