"""Late records that lengthen and join sessions, also over midnight and into an open one."""

from datetime import timedelta

from spark_jobs.spec import State
from tests.spark.properties.case import Case, Drain
from tests.spark.properties.events import BEGIN, Event, Record, good
from tests.spark.properties.repair_acts import Act, Ending, Sequence

DELAY = timedelta(minutes=10)


def sequence() -> Sequence:
    """BEGIN is an hour before midnight; the gap is ten minutes."""
    runs = (
        [
            *_events("a", "first", 0, 5, 48, 66, 90, 130),
            *_events("b", "first", 0, 52, 64, 130),
            *_events(None, "first", 20, 34, 300),
            *_events("c", "first", 700),
        ],
        [
            *_events("a", "joins over midnight", 57),
            *_events("b", "joins over midnight", 58),
            *_events("a", "a session of its own", 20),
            *_events(None, "meets the end of one and the start of another", 30, 24),
            *_events("a", "first", 5),  # a copy
            *_events("c", "second", 705, 1_500),
        ],
        [*_events("a", "joins what was joined", 76, 82), *_events("c", "before one that was open", 697), *_events("c", "third", 1_506, 3_000)],
    )  # fmt: skip
    records = [record for run in runs for record in run]
    ends = [sum(map(len, runs[: n + 1])) for n in range(len(runs))]
    drains = tuple(Drain(end) for end in ends)
    state = State(shuffle_partitions=1, budget_rows=10_000)
    case = Case(tuple(records), 1, DELAY, state, False, (drains,))
    acts = (
        (),
        (Act("begin"),),
        (Act("verify", 0, 500), Act("backfill", 0, 500), Act("undo", 1000), Act("verify")),
    )
    return Sequence(case, acts, Ending("in parts", (300, 500, 700), "backwards"))


def _events(key: str | None, name: str, *minutes: int) -> list[Record]:
    return [
        good(Event(f"{key} {name} {at}", BEGIN + timedelta(minutes=at), key, at % 7), 0)
        for at in minutes
    ]
