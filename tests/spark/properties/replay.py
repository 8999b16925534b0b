"""What must become of each record, replayed from the batches' end offsets alone: plain Python, neither Spark nor Sluice."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.spark.properties.case import Case, Place
from tests.spark.properties.events import MILLISECOND, Event

Late = Callable[[Event, int], bool]
"""Whether an event is late for the first stateful step, given the watermark that it is held against, in microseconds."""


class Seen(NamedTuple):
    """A good record that reached the first stateful step; `missed_us` is the watermark that it was late for."""

    place: Place
    event: Event
    missed_us: int | None


class Played(NamedTuple):
    """One batch: the counts that its account must have, what it saw, and the watermark that it ran under (0: none yet)."""

    counts: dict[str, int]
    seen: tuple[Seen, ...]
    watermark_us: int


def play(case: Case, ends: list[dict[int, int]], enters: Callable[[Event], bool], late: Late) -> list[Played]:
    """A batch runs under the watermark of all that came before it, and judges by the one that the batch before it ran under.

    Before there is a watermark Spark's is the epoch, and what is not after that is late.
    """
    placed = list(zip(case.places, case.records, strict=True))
    played, start, following, judged_by = [], dict.fromkeys(range(case.partitions), 0), 0, 0
    for end in ends:
        watermark = following
        inside = [(place, record) for place, record in placed if start[place[0]] <= place[1] < end[place[0]]]
        counts = {kind: sum(record.kind == kind for _, record in inside) for kind in ("malformed", "premature")}
        good = [(place, record.event) for place, record in inside if record.kind == "good" and record.event]
        entered = [(place, event) for place, event in good if enters(event)]
        seen = tuple(Seen(place, event, judged_by if late(event, judged_by) else None) for place, event in entered)
        behind = sum(one.missed_us is not None for one in seen)
        counts |= {"read": len(inside), "gaps": 0, "filtered": len(good) - len(entered), "late": behind,
                   "accepted": len(entered) - behind}
        played.append(Played(counts, seen, watermark))
        # Spark's watermark goes by whole milliseconds, and never back.
        newest = max((event.at_us // 1000 for _, event in entered), default=0)
        following = max(following, (newest - case.delay // MILLISECOND) * 1000)
        judged_by, start = watermark, end
    return played


def everything(case: Case, enters: Callable[[Event], bool]) -> list[Seen]:
    """All good records, as if none had been late."""
    pairs = zip(case.places, case.records, strict=True)
    return [Seen(place, r.event, None) for place, r in pairs if r.kind == "good" and r.event and enters(r.event)]


def newest_watermark_us(case: Case, enters: Callable[[Event], bool], upto: dict[int, int]) -> int:
    """What the watermark must have come to when all of these offsets have been read."""
    times = [one.event.at_us // 1000 for one in everything(case, enters) if one.place[1] < upto[one.place[0]]]
    return max(0, *((ms - case.delay // MILLISECOND) * 1000 for ms in times), 0)
