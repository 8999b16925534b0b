"""Copies: which of a key's records a Deduplicate has kept. Between batches its state decides, and
the watermark which keys that still has. Within one batch Spark keeps any of a key's copies. So each
way that Spark may have it is followed; what they agree on is told.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.repair.offsets.slices import Index
from spark_jobs.source.place import Place
from spark_jobs.source.positions import parts_of
from spark_jobs.values.spans import MICROSECOND, Span, microseconds
from spark_jobs.where.again import by_counts
from spark_jobs.where.ask import deduplicates, key_of
from spark_jobs.where.in_table import InTable
from spark_jobs.where.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from spark_jobs.source.positions import Parts
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.again import Reader
    from spark_jobs.where.ask import Seen
    from spark_jobs.where.kept import Accounted

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
    """Batch -> the copies that may be its row of the key in the table; else nobody can tell."""

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
        sure = any(each.certain for each in here)
        for way in ways:
            if way is None and (wrote is None or wrote or not sure):
                firsts = [each for each in here if wrote is None or each.place in wrote]
                after |= {*firsts} | (set() if wrote or sure else {None})
                kept |= {each.place for each in firsts}
            elif way is not None and not wrote:  # a row of the key says that the state had none
                after.add(way)
                kept.add(way.place)
        found |= {each.place: {*kept} for each in here}
        ways = after
    return found


def seen_and_kept(
    reader: Reader, asked: Mapping[Place, Accounted]
) -> tuple[Mapping[Place, Seen], Mapping[Place, set[Place]]]:
    """The records, and of accepted copies those that a Deduplicate may have kept, as kept_of."""
    step = deduplicates(reader.spec)
    # What a step before state has left out is no copy, and nobody looks for its copies.
    may = {p: b for p, b in asked.items() if by_counts(b, reader.spec) is not False}
    if step is None or not may:
        return reader.seen(asked, {}), {}
    for reach in REACHES:
        beside, until = _among(reader, step, [*may.values()], reach)
        seen = reader.seen(asked, beside)
        told = _judged(reader, step, asked, may, seen, until)
        if until == ANY_TIME or not any(of >= {place, UNREAD} for place, of in told.items()):
            break
    return seen, told


def _among(
    reader: Reader, step: Step, batches: Collection[Accounted], reach: int | None
) -> tuple[Parts, int | None]:
    """Where their copies are looked for; and the largest event time of one that is not read."""
    known, delay = reader.known, step.copies_for(reader.spec.watermark_delay)
    end = known.end(max(each.id for each in batches))
    index = Index.read(known.paths, known.identity.generations, known.begins, end)
    parts: Parts = {p: (all_,) for p, all_ in index.within.items()}
    marks = [each.late_before for each in batches if each.late_before is not None]
    until = None
    if reach is not None and delay is not None and len(marks) == len(batches):
        with suppress(OverflowError):
            since = min(marks) - reach * delay
            parts = index.possible([Span(since, _LAST)])
            until = microseconds(since)
    if lost := reader.nowhere(parts):
        newest = index.newest_at(lost)
        at = ANY_TIME if newest is None or index.lacking else microseconds(newest)
        until = at if until is None else max(at, until)
    if reader.topic and reader.source.compacted():  # they may be gone from between others
        until = ANY_TIME
    return parts, until


def _judged(
    reader: Reader,
    step: Step,
    asked: Mapping[Place, Accounted],
    may: Collection[Place],
    seen: Mapping[Place, Seen],
    unread_until: int | None,
) -> dict[Place, set[Place]]:
    """Of those that `may` be copies, as kept_of. `seen`: the asked ones and their copies."""
    spec, known = reader.spec, reader.known
    rows = {place: each.row for place, each in seen.items() if each.row}
    batch_of, kept = known.of(rows), Kept.read(known, parts_of(rows))
    batches = {each.id: each for each in batch_of.values()}
    whole = kept.whole(batches.values())
    pins = {n: reader.pins(each) for n, each in batches.items()} if spec.sides else {}
    newest = pins.get(max(each.id for each in asked.values()))
    keys = tuple(step.state_key(tuple(next(iter(rows.values()), ()))) or ())
    by_key = defaultdict[str, list[Copy]](list)
    for place, batch in batch_of.items():
        if not kept.rejected(place, batch):
            certain = (
                batch.id in whole
                and batch.id > known.same_since
                and (place in asked or pins.get(batch.id) == newest)
            )
            copy = Copy(place, batch.id, rows[place][spec.inputs.event_time], certain)
            by_key[key_of(rows[place], keys)].append(copy)
    of_asked = {key: own for key, own in by_key.items() if any(each.place in may for each in own)}
    here = defaultdict[int, dict[Place, dict[str, Any]]](dict)
    for each in chain.from_iterable(of_asked.values()):
        here[each.batch][each.place] = rows[each.place]
    table = InTable(spec, known.paths, ())
    wrote = {n: table.wrote(batches[n].table_version, keys, own) for n, own in here.items()}
    delay, marks = step.copies_for(spec.watermark_delay), known.batches
    late_before = {each.id: microseconds(each.late_before) for each in marks if each.late_before}
    found: dict[Place, set[Place]] = {}
    for key, copies in of_asked.items():
        of_key = {batch: of.get(key) for batch, of in wrote.items()}
        keeping = Keeping(None if delay is None else delay // MICROSECOND, late_before, of_key)
        found |= kept_of(copies, keeping, unread_until)
    return found
