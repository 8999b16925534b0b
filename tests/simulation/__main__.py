"""`make simulate SECONDS=3600`: schedules by seeds until the time is over, the first violation of a
kind shortened to the fewest rounds and commands that still give it.
"""

from __future__ import annotations

import collections
import logging
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.simulate import Outcome, Round, rounds, run

A_BATCH = 16
"""Schedules of each process between two looks at the clock."""


def main(seconds: float, seed: int) -> int:
    began, now, processes = time.monotonic(), seed, os.cpu_count() or 1
    counts: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    with ProcessPoolExecutor(processes, initializer=logging.disable) as pool:
        while time.monotonic() - began < seconds:
            seeds = range(now, now + A_BATCH * processes)
            for each, outcome in zip(seeds, pool.map(of_seed, seeds), strict=True):
                counts.update(writes=outcome.places, hits=outcome.hits, changes=outcome.changes)
                if outcome.violation:
                    kinds[outcome.violation.kind] += 1
                    if kinds[outcome.violation.kind] == 1:
                        tell(each, *shortened(rounds(each), each, outcome))
            now = seeds.stop
    took = time.monotonic() - began
    print(
        f"{now - seed} schedules from seed {seed}, half of them over an object store, "
        f"{(now - seed) / took:.1f} a second; {counts['writes']} writes, at {counts['hits']} of which "
        f"an actor was killed, fell asleep or lost the answer, and behind {counts['changes']} "
        f"another one went on; {dict(kinds) or 'no violation'}"
    )
    return bool(kinds)


def of_seed(seed: int) -> Outcome:
    return run(rounds(seed), seed)


def shortened(
    schedule: tuple[Round, ...], seed: int, outcome: Outcome
) -> tuple[tuple[Round, ...], Outcome]:
    """Without the rounds, commands and hits that the violation does not need."""
    assert outcome.violation is not None
    smaller = True
    while smaller:
        smaller = False
        for less in _less(schedule):
            tried = run(less, seed)
            if tried.violation and tried.violation.kind == outcome.violation.kind:
                schedule, outcome, smaller = less, tried, True
                break
    return schedule, outcome


def _less(schedule: tuple[Round, ...]) -> Iterator[tuple[Round, ...]]:
    for at in range(len(schedule)):
        yield (*schedule[:at], *schedule[at + 1 :])
    for at, each in enumerate(schedule):
        for one in range(len(each.commands)):
            fewer = (*each.commands[:one], *each.commands[one + 1 :])
            yield (*schedule[:at], each._replace(commands=fewer), *schedule[at + 1 :])
        if each.hits:
            yield (*schedule[:at], each._replace(hits=each.hits - 1), *schedule[at + 1 :])


def tell(seed: int, schedule: tuple[Round, ...], outcome: Outcome) -> None:
    where = "an object store" if seed % 2 else "a disk"
    print(f"seed {seed}, {len(schedule)} rounds on {where}:")
    for line in outcome.lines:
        print(f"  {line}")
    print(f"  -> {outcome.violation}")
    again = repr(schedule).replace("Round(commands=", "Round(").replace(", at=None", "")
    print(f"  run({again}, {seed})\n", flush=True)


if __name__ == "__main__":
    logging.disable()
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
