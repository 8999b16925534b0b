"""`make simulate SECONDS=3600`: schedules by seeds until the time is over, the first violation
shortened to the fewest rounds that still give it.
"""

from __future__ import annotations

import collections
import sys
import time

from tests.simulation.simulate import Outcome, Round, rounds, run


def main(seconds: float, seed: int) -> int:
    began, done, places = time.monotonic(), 0, 0
    kinds: collections.Counter[str] = collections.Counter()
    shown: set[str] = set()
    while time.monotonic() - began < seconds:
        outcome = run(rounds(seed + done), seed + done)
        places += outcome.places
        if outcome.violation:
            kinds[outcome.violation.kind] += 1
            if outcome.violation.kind not in shown:
                shown.add(outcome.violation.kind)
                tell(seed + done, *shortened(rounds(seed + done), seed + done, outcome))
        done += 1
    took = time.monotonic() - began
    print(
        f"{done} schedules from seed {seed}, {done / took:.1f} a second, {places} writes; {dict(kinds) or 'no violation'}"
    )
    return bool(kinds)


def shortened(
    schedule: tuple[Round, ...], bad: int, outcome: Outcome
) -> tuple[tuple[Round, ...], Outcome]:
    """Without the rounds, commands and kills that the violation does not need."""
    assert outcome.violation is not None
    at = 0
    while at < len(schedule):
        less = (*schedule[:at], *schedule[at + 1 :])
        tried = run(less, bad)
        if tried.violation and tried.violation.kind == outcome.violation.kind:
            schedule, outcome = less, tried
        else:
            at += 1
    return schedule, outcome


def tell(seed: int, schedule: tuple[Round, ...], outcome: Outcome) -> None:
    print(f"seed {seed}, {len(schedule)} rounds:")
    for line in outcome.lines:
        print(f"  {line}")
    print(f"  -> {outcome.violation}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
