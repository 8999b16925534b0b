"""What must become of each record, by the batches' end offsets: neither Spark nor Sluice."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.harness.replay import Place, batch_of, newest_us, watermarks
from tests.spark.properties.case import Case
from tests.spark.properties.events import Event, Record

Enters = Callable[[Event], bool]
"""Whether the steps before the first stateful one let an event through."""
Late = Callable[[Event, int], bool]
"""Whether an event is late for the first stateful step, by the watermark (us) it is held to."""


class Seen(NamedTuple):
    """A good record of the first stateful step; `missed_us` is the watermark it was late for."""

    place: Place
    event: Event
    missed_us: int | None


class Played(NamedTuple):
    """One batch: its account's counts, what it saw, and the watermark it ran under (0: none)."""

    counts: dict[str, int]
    seen: tuple[Seen, ...]
    watermark_us: int


def play(case: Case, ends: list[dict[int, int]], enters: Enters, late: Late) -> list[Played]:
    """Batch by batch."""
    placed = list(zip(case.places, case.records, strict=True))
    marks = watermarks(
        ends, {place: event.at_us for place, event in _good(placed) if enters(event)}, case.delay
    )
    return [
        _batch([one for one in placed if batch_of(ends, one[0]) == number], mark, enters, late)
        for number, mark in enumerate(marks)
    ]


def _batch(inside, marks, enters, late) -> Played:
    good = list(_good(inside))
    entered = [(place, event) for place, event in good if enters(event)]
    missed = marks.judged_by_us
    seen = tuple(
        Seen(place, event, missed if late(event, missed) else None) for place, event in entered
    )
    behind = sum(one.missed_us is not None for one in seen)
    counts = {
        kind: sum(record.kind == kind for _, record in inside)
        for kind in ("malformed", "premature")
    }
    counts |= {
        "read": len(inside),
        "gaps": 0,
        "filtered": len(good) - len(entered),
        "late": behind,
        "accepted": len(entered) - behind,
    }
    return Played(counts, seen, marks.ran_under_us)


def everything(case: Case, enters: Enters) -> list[Seen]:
    """All good records, as if none had been late."""
    return [
        Seen(place, event, None)
        for place, event in _good(zip(case.places, case.records, strict=True))
        if enters(event)
    ]


def newest_watermark_us(case: Case, enters: Enters, upto: dict[int, int]) -> int:
    """What the watermark must have come to when all of these offsets have been read."""
    return newest_us(
        (one.event.at_us for one in everything(case, enters) if one.place[1] < upto[one.place[0]]),
        case.delay,
    )


def _good(placed: Iterable[tuple[Place, Record]]) -> Iterable[tuple[Place, Event]]:
    return (
        (place, record.event) for place, record in placed if record.kind == "good" and record.event
    )
