"""Copies: which of a key's records a Deduplicate has kept, in every way that Spark may have it.

Between batches its state decides, and the watermark which keys that still has. Within one batch
Spark keeps any of a key's copies. So each way is followed; what they agree on is told.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.repair.offsets.slices import Index
from spark_jobs.source.place import Place
from spark_jobs.values.spans import EPOCH, MICROSECOND, Span
from spark_jobs.where.ask import key_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Set as AbstractSet

    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.again import Reader
    from spark_jobs.where.ask import Seen
    from spark_jobs.where.in_table import InTable
    from spark_jobs.where.known import Accounted

REACHES: Final = (2, 32, None)
"""How many delays before the watermark of a record's batch its copies are looked for, in turn; None
for all. A kept copy that counts is one delay before it, unless that one is a copy itself.
"""
UNREAD: Final = Place(-1, -1)
"""In place of a copy that could not be read."""
ANY_TIME: Final = 2**62
"""In place of the largest event time of a copy that could not be read: it may have any."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)


class Copy(NamedTuple):
    """An accepted record of one key."""

    place: Place
    batch: int
    at: int
    """Its event time, in microseconds since the epoch."""
    certain: bool = True
    """Whether its batch has accepted it, for all that is known."""


class Keeping(NamedTuple):
    """How long a kept copy is in the state, and what is known of batches."""

    delay: int | None
    """Microseconds behind its event time; None for ever."""
    late_before: Mapping[int, int]
    """Batch -> the watermark before it, in microseconds; nothing where there was none."""
    wrote: Mapping[int, frozenset[Place] | None]
    """Batch -> the copies that may be its row of the key in the table, none if it wrote none; None
    or nothing if nobody can tell.
    """

    def alive(self, kept: Copy, batch: int) -> bool:
        return self.delay is None or kept.at + self.delay > self.late_before.get(
            batch, -ANY_TIME * 2
        )


def kept_of(
    copies: Iterable[Copy], keeping: Keeping, unread_until: int | None
) -> dict[Place, set[Place]]:
    """Of each copy, those that may be the kept one of its key: itself, or UNREAD; none if what is
    known does not agree. `unread_until`: the largest event time that a copy may have which could
    not be read; None if all were read.
    """
    by_batch = defaultdict[int, list[Copy]](list)
    for each in copies:
        by_batch[each.batch].append(each)
    gone = None if unread_until is None else Copy(UNREAD, -1, unread_until)
    ways: set[Copy | None] = {None}
    found: dict[Place, set[Place]] = {}
    for batch, here in sorted(by_batch.items()):
        ways = {way if way and keeping.alive(way, batch) else None for way in ways}
        if gone and ways & {gone, None}:  # it may be of an earlier time, and dropped
            ways |= {None, gone if keeping.alive(gone, batch) else None}
        wrote = keeping.wrote.get(batch)
        after, kept = set[Copy | None](), set[Place]()
        for way in ways:
            if way is None and (wrote is None or wrote or not _sure(here)):
                firsts = [each for each in here if wrote is None or each.place in wrote]
                after |= {*firsts} | (set() if wrote or _sure(here) else {None})
                kept |= {each.place for each in firsts}
            elif way is not None and not wrote:  # a row of the key says that the state had none
                after.add(way)
                kept.add(way.place)
        found |= {each.place: {*kept} for each in here}
        ways = after
    return found


def _sure(here: Iterable[Copy]) -> bool:
    return any(each.certain for each in here)


def among(
    reader: Reader, step: Step, batches: Collection[Accounted], reach: int | None
) -> tuple[Parts, int | None]:
    """Where copies of records of these batches are looked for; and the largest event time, in
    microseconds, of a copy that is not there, or that nobody has any more.
    """
    known = reader.known
    end = known.end(max(each.id for each in batches))
    index = Index.read(known.paths, known.generations, known.begins, end)
    since = _since(reader.spec, step, batches, reach)
    if since is None:
        parts: Parts = {p: (all_,) for p, all_ in index.within.items()}
        until = None
    else:
        parts = index.possible([Span(since, _LAST)])
        until = (since - EPOCH) // MICROSECOND
    if lost := reader.nowhere(parts):
        newest = index.newest_at(lost)
        at = ANY_TIME if newest is None or index.lacking else (newest - EPOCH) // MICROSECOND
        until = at if until is None else max(at, until)
    if reader.topic and reader.source.compacted():  # they may be gone from between others
        until = ANY_TIME
    return parts, until


def _since(
    spec: Pipeline, step: Step, batches: Iterable[Accounted], reach: int | None
) -> datetime | None:
    delay, marks = step.copies_for(spec.watermark_delay), [each.late_before for each in batches]
    known = [each for each in marks if each is not None]
    if reach is None or delay is None or len(known) < len(marks):
        return None
    try:
        return min(known) - reach * delay
    except OverflowError:
        return None


def judged(
    reader: Reader,
    table: InTable,
    step: Step,
    entered: Mapping[Place, tuple[Seen, bool]],
    asked: AbstractSet[Place],
    unread_until: int | None,
) -> dict[Place, set[Place]]:
    """Of the asked ones, as kept_of. `entered`: they and their copies, as far as they were read,
    and whether their batch is known to have accepted them.
    """
    spec, known = reader.spec, reader.known
    batch_of, first = known.of(entered), next(iter(entered.values()), None)
    keys = tuple(step.state_key(tuple(first[0].row)) or ()) if first else ()
    by_key = defaultdict[str, list[Place]](list)
    for place, (seen, _) in entered.items():
        if place in batch_of:
            by_key[key_of(seen.row, keys)].append(place)
    of_asked = {key: own for key, own in by_key.items() if not asked.isdisjoint(own)}
    here, version = defaultdict[int, dict[Place, dict[str, Any]]](dict), dict[int, int | None]()
    for place in chain.from_iterable(of_asked.values()):
        version[batch_of[place].id] = batch_of[place].table_version
        here[batch_of[place].id][place] = entered[place][0].row
    wrote = {batch: table.wrote(version[batch], keys, rows) for batch, rows in here.items()}
    delay = step.copies_for(spec.watermark_delay)
    late_before = {
        each.id: (each.late_before - EPOCH) // MICROSECOND
        for each in known.batches
        if each.late_before is not None
    }
    found: dict[Place, set[Place]] = {}
    for key, places in of_asked.items():
        of_key = {batch: of.get(key) for batch, of in wrote.items()}
        keeping = Keeping(None if delay is None else delay // MICROSECOND, late_before, of_key)
        copies = (
            Copy(place, batch_of[place].id, seen.row[spec.inputs.event_time], certain)
            for place in places
            for seen, certain in (entered[place],)
        )
        found |= kept_of(copies, keeping, unread_until)
    return found
