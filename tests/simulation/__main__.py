"""`make simulate SECONDS=3600`: schedules by seeds; a violation is shortened to its essence."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.simulation.simulate import Outcome, Round, is_keyed, played, rounds, run

SHORTENED = 3
"""Violations of a kind that are shortened; of the others the seed is told."""


def main(seconds: float, seed: int) -> int:
    logging.disable(logging.ERROR)
    began, now = time.monotonic(), seed
    counts, hits, violations = Counter[str](), Counter[str](), Counter[str]()
    writes = Counter[str]()
    while time.monotonic() - began < seconds:
        outcome = played(now)
        counts.update(schedules=1, changes=outcome.changes)
        writes.update(outcome.places)
        hits.update(outcome.hits)
        if outcome.violation:
            violations[outcome.violation.kind] += 1
            print(f"seed {now}: {str(outcome.violation).splitlines()[0][:300]}", flush=True)
            if violations[outcome.violation.kind] <= SHORTENED:
                tell(now, *shortened(rounds(now), now, outcome))
        now += 1
    took = time.monotonic() - began
    print(
        f"{counts['schedules']} schedules from seed {seed}, half of them over an object store, "
        f"{counts['schedules'] / took:.1f} a second; {writes.total()} writes of {len(writes)} "
        f"kinds; {hits['dies']} kills, {hits['sleeps']} sleeps beyond the lease, {hits['loses']} "
        f"lost answers; behind {counts['changes']} writes another actor went on; "
        f"violations: {dict(violations) or 'none'}"
    )
    return bool(violations)


def shortened(
    schedule: tuple[Round, ...], seed: int, outcome: Outcome
) -> tuple[tuple[Round, ...], Outcome]:
    """Without the rounds, commands and hits that the violation does not need."""
    assert outcome.violation is not None
    smaller = True
    while smaller:
        smaller = False
        for less in _less(schedule):
            tried = run(less, seed, keyed=is_keyed(seed))
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
        if each.asleep:
            yield (*schedule[:at], each._replace(asleep=0), *schedule[at + 1 :])


def tell(seed: int, schedule: tuple[Round, ...], outcome: Outcome) -> None:
    where = "an object store" if seed % 2 else "a disk"
    keyed = ", keyed=True" if is_keyed(seed) else ""
    print(f"seed {seed}, {len(schedule)} rounds on {where}:")
    for line in outcome.lines:
        print(f"  {line}")
    print(f"  -> {outcome.violation}")
    print(f"  run({schedule!r}, {seed}{keyed})\n".replace("Round(commands=", "Round("), flush=True)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
