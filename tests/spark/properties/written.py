"""A sequence for `make test`, by a seed: three runs a day apart, with late and bad records."""

from datetime import timedelta
from random import Random

from spark_jobs.spec import State
from tests.spark.properties.case import Case, Drain
from tests.spark.properties.events import BEGIN, MALFORMED, Event, Record, good, premature
from tests.spark.properties.repair_acts import Act, Ending, Sequence, in_kafkas_order

FRESH = 12
"""Events of a run's own day."""
LATE = 5
"""Events of earlier days, in each run but the first; two of them are copies."""
APART = timedelta(hours=26)
SPREAD_MINUTES = 20 * 60
DELAY = timedelta(minutes=10)
BROKEN_MS = 1_582_934_400_000


def written(seed: int) -> Sequence:
    """The sequence of this seed."""
    chance = Random(seed)
    records: list[Record] = []
    ends = []
    for run in range(3):
        fresh = [good(_event(chance, run, f"fresh {run} {n}"), 0) for n in range(FRESH)]
        late = _late(chance, run, records) if run else []
        broken = Record("malformed", 0, None, chance.choice(MALFORMED), BROKEN_MS)
        early = premature(_event(chance, run, f"early {run}"), 0)
        records += chance.sample(mixed := [*fresh, *late, broken, early], len(mixed))
        ends.append(len(records))
    batching = (Drain(ends[0], 7, "unaccounted"), Drain(ends[1]), Drain(ends[2]))
    state = State(shuffle_partitions=1, budget_rows=10_000)
    case = Case(tuple(records), 1, DELAY, state, False, (batching,))
    acts = ((), (Act("begin"),), (Act("backfill", 0, 900), Act("undo", 1000)))
    return Sequence(in_kafkas_order(case), acts, Ending("repair"))


def _event(chance: Random, run: int, event_id: str) -> Event:
    minutes = chance.randrange(SPREAD_MINUTES)
    at = BEGIN + run * APART + timedelta(minutes=minutes)
    return Event(event_id, at, chance.choice(("a", "b", None)), chance.choice((None, 3, -1)))


def _late(chance: Random, run: int, sent: list[Record]) -> list[Record]:
    """Of earlier days: new ones, and copies."""
    new = [
        good(_event(chance, chance.randrange(run), f"late {run} {n}"), 0) for n in range(LATE - 2)
    ]
    copies = chance.sample([each for each in sent if each.kind == "good"], 2)
    return [*new, *copies]
