"""Lateness, replayed from the batches' end offsets alone: plain Python, neither Spark nor Sluice.

A batch runs under the watermark of all that came before it, and judges lateness by the one that the
batch before it ran under. Spark's watermark goes by whole milliseconds and never back. Before there
is one it is the epoch, and what is not after that is late.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tests.harness.moments import MILLISECOND, at

Place = tuple[int, int]
"""Partition and offset."""
Offsets = Mapping[int, int]
"""By partition: the offset after the last that was read."""


class Watermarks(NamedTuple):
    """What a batch runs under, and what it judges lateness by, in microseconds; 0: none yet."""

    ran_under_us: int
    judged_by_us: int


def batch_of(ends: Sequence[Offsets], place: Place) -> int:
    """The number of the batch that reads the record there; as many as there are where none does."""
    return bisect_right(ends, place[1], key=lambda end: end.get(place[0], 0))


def watermarks(ends, entered, delay) -> list[Watermarks]:
    """Each batch's, from the event times (us) of the records that reach the first stateful step."""
    times: dict[int, list[int]] = defaultdict(list)
    for place, at_us in entered.items():
        times[batch_of(ends, place)].append(at_us)
    found = []
    following = 0
    judged_by = 0
    for number in range(len(ends)):
        found.append(Watermarks(following, judged_by))
        judged_by = following
        following = max(following, newest_us(times[number], delay))
    return found


def newest_us(times: Iterable[int], delay: timedelta) -> int:
    """The watermark that these event times lead to, 0 where to none; all in microseconds."""
    return max(0, *((at_us // 1000 - delay // MILLISECOND) * 1000 for at_us in times), 0)


def late(ledger, ends, enters, delay, until="event_time") -> dict[Place, datetime]:
    """Where the late records are, and what each missed; `enters` and `until` are SQL."""
    records = {
        place: times
        for place, times in _entered(ledger, enters, until).items()
        if batch_of(ends, place) < len(ends)
    }
    judged = watermarks(ends, {place: at_us for place, (at_us, _) in records.items()}, delay)
    missed = {
        place: (judged[batch_of(ends, place)].judged_by_us, until_us)
        for place, (_, until_us) in records.items()
    }
    return {
        place: at(judged_by_us)
        for place, (judged_by_us, until_us) in missed.items()
        if until_us <= judged_by_us
    }


def watermark(ledger, ends, enters, delay) -> datetime | None:
    """The watermark that all these batches lead to, and the closing one runs under; or None."""
    times = [
        at_us
        for place, (at_us, _) in _entered(ledger, enters, "event_time").items()
        if batch_of(ends, place) < len(ends)
    ]
    newest = newest_us(times, delay)
    return at(newest) if newest else None


def _entered(ledger: pa.Table, enters: str, until: str) -> dict[Place, tuple[int, int]]:
    """Event time and `until` of the good records that enter, in microseconds."""
    with duckdb.connect() as db:
        db.sql("SET TimeZone = 'UTC'")
        db.register("ledger", ledger)
        rows = db.sql(f"""SELECT "partition", "offset", epoch_us(event_time), epoch_us({until}) FROM ledger
                          WHERE kind IN ('good', 'duplicate') AND ({enters})""").fetchall()
    return {(partition, offset): (at_us, until_us) for partition, offset, at_us, until_us in rows}
