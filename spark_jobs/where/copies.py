"""Copies: which of a key's records a Deduplicate has kept, in every way that Spark may have it.

Between batches its state decides, and the watermark which keys that still has. Within one batch
Spark keeps any of a key's copies. So each way is followed; what they agree on is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.source.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


FOR_EVER: Final = 2**63


class Copy(NamedTuple):
    """An accepted record of one key."""

    place: Place
    batch: int
    at: int
    """Its event time, in microseconds since the epoch."""
    certain: bool = True
    """Whether its batch has accepted it, for all that is known."""


class Told(NamedTuple):
    """What each way says of one record."""

    kept: bool
    """Whether it is kept in some way."""
    dropped: bool
    """Whether it is dropped in some way."""
    of: tuple[Place, ...]
    """The records of which it is a copy where it is dropped; where it is not for certain, those
    that may have been kept in its place.
    """
    beyond: bool
    """Whether it may be a copy of one that could not be read."""


@dataclass(frozen=True)
class _Way:
    """What the state has: the kept copy, or nothing."""

    kept: Copy | None
    unread: bool = False
    """Whether it is one that could not be read, of a time at most `kept.at`."""


_NOTHING: Final = _Way(None)


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

    def alive(self, way: _Way, batch: int) -> bool:
        if way.kept is None or self.delay is None:
            return way.kept is not None
        expires = way.kept.at + self.delay
        return expires > self.late_before.get(batch, -FOR_EVER)


def told(copies: Iterable[Copy], keeping: Keeping, unread_until: int | None) -> dict[Place, Told]:
    """Of each copy. `unread_until`: the largest event time that a copy may have which could not be
    read; None if all were read.
    """
    by_batch: dict[int, list[Copy]] = {}
    for each in copies:
        by_batch.setdefault(each.batch, []).append(each)
    unread = None
    if unread_until is not None:
        unread = _Way(Copy(Place(-1, -1), -1, unread_until), unread=True)
    ways = {_NOTHING}
    found: dict[Place, Told] = {}
    for batch in sorted(by_batch):
        ways = {way if keeping.alive(way, batch) else _NOTHING for way in ways}
        if unread in ways:  # it may be of an earlier time, and gone
            ways.add(_NOTHING)
        if unread and _NOTHING in ways and keeping.alive(unread, batch):
            ways.add(unread)
        ways, say = _after(ways, by_batch[batch], keeping.wrote.get(batch))
        found |= say
    return found


def _after(
    ways: set[_Way], here: list[Copy], wrote: frozenset[Place] | None
) -> tuple[set[_Way], dict[Place, Told]]:
    """The ways behind a batch, and what they say of its copies."""
    kept: dict[Place, set[Place | None]] = {each.place: set() for each in here}
    beyond: set[Place] = set()
    after: set[_Way] = set()
    sure = [each for each in here if each.certain]
    for way in ways:
        if way.kept is not None:
            if wrote:  # it wrote a row of the key, so that its state had none
                continue
            after.add(way)
            for each in here:
                kept[each.place].add(None if way.unread else way.kept.place)
                if way.unread:
                    beyond.add(each.place)
            continue
        if wrote is not None and not wrote and sure:
            continue  # it wrote none, so that its state had the key
        # Which of them entered is not known of those that are not certain.
        firsts = [each for each in here if wrote is None or each.place in wrote]
        for first in firsts:
            after.add(_Way(first))
            for each in here:
                kept[each.place].add(first.place)
        if not sure and not wrote:
            after.add(way)
    say = {
        place: Told(
            place in of,
            bool(of - {place}),
            tuple(sorted(each for each in of if each is not None and each != place)),
            place in beyond,
        )
        for place, of in kept.items()
    }
    return after, say
