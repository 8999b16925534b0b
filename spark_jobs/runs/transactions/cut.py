"""Cut: up to where each partition is read, so that whole transactions of the source are read and no
part of another.

A connector sends one transaction behind the other. So a partition has them in the order of their
ENDs, and one that shows a later transaction gets nothing of an earlier one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.spec.topic import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set as AbstractSet

    from spark_jobs.source.micro_batch import Offsets


class Change(NamedTuple):
    """A record of a transaction. Others stand for themselves, wherever they are."""

    offset: int
    id: str
    order: int
    """Its number among the transaction's changes of its table. What comes again has the same."""
    millis: int
    """Its Kafka timestamp."""


class End(NamedTuple):
    """An END of the transaction topic."""

    id: str
    counts: Mapping[int, int]
    """Number of a topic -> the transaction's changes in it; other topics are not there."""
    behind: int
    """The offset behind it."""


class Tail(NamedTuple):
    """What a partition has that is not read yet."""

    changes: Sequence[Change]
    end: int
    late: bool = False
    """Whether changes before these are not known, as those that retention removed."""


class Found(NamedTuple):
    """Where a run ends."""

    ends: int
    """So many of the ENDs are of transactions that it has."""
    cuts: Offsets
    lacking: tuple[str, ...]
    """Transactions of these that lack changes which come no more."""


def cut(
    ends: Sequence[End],
    tails: Mapping[int, Tail],
    open_: AbstractSet[str] = frozenset(),
    old: AbstractSet[str] = frozenset(),
) -> Found:
    """Behind the newest END up to which all are whole. `tails`: of every partition. `open_`: ids
    that have a BEGIN alone. `old`: those of transactions that an earlier run has whole: what comes
    again of them may be anywhere.
    """
    places = dict.fromkeys(open_, len(ends))
    places |= {end.id: place for place, end in reversed([*enumerate(ends)])}
    seen = _Seen(tails)
    newest = {
        p: max((places.get(each.id, -1) for each in tail.changes), default=-1)
        for p, tail in tails.items()
    }
    fronts = (tail.changes[0] for tail in tails.values() if tail.late and tail.changes)
    front = max((_torn(each, places) for each in fronts if each.id not in open_), default=-1)

    def lacks(place: int) -> tuple[int, ...]:
        """The topics that have fewer changes of it than its END says, though none is cut off."""
        if place <= front or ends[place].id in old:
            return ()
        counts = ends[place].counts.items()
        return tuple(topic for topic, count in counts if seen.number(ends[place].id, topic) < count)

    def settled(place: int) -> bool:
        """Whether what it lacks comes no more."""
        lacking = lacks(place)
        return all(newest[p] > place for p in tails if p // PARTITIONS in lacking)

    passed = len(ends)
    while True:
        cuts = _cuts(tails, {*old, *(end.id for end in ends[:passed])})
        short = (n for n, end in enumerate(ends[:passed]) if seen.split(end.id, cuts, old))
        waits = (n for n in range(passed) if not settled(n))
        first = min(next(short, passed), next(waits, passed))
        if first == passed:
            lacking = tuple(end.id for n, end in enumerate(ends[:passed]) if lacks(n))
            return Found(passed, cuts, lacking)
        passed = first


def _torn(first: Change, places: Mapping[str, int]) -> int:
    """The last END whose transaction may have lost changes before the first of a partition."""
    return places.get(first.id, -1) - (first.order == 1)


def _cuts(tails: Mapping[int, Tail], passed: AbstractSet[str]) -> Offsets:
    return {
        p: next((each.offset for each in tail.changes if each.id not in passed), tail.end)
        for p, tail in tails.items()
    }


class _Seen:
    """What all partitions have of each transaction."""

    def __init__(self, tails: Mapping[int, Tail]) -> None:
        orders = defaultdict[tuple[str, int], dict[int, int]](dict)
        for p, tail in tails.items():
            for each in tail.changes:
                orders[each.id, p].setdefault(each.order, each.offset)
        self._number = defaultdict[tuple[str, int], int](int)
        self._reach = defaultdict[str, list[tuple[int, int]]](list)
        for (id_, p), first in orders.items():
            self._number[id_, p // PARTITIONS] += len(first)
            self._reach[id_].append((p, max(first.values())))

    def number(self, id_: str, topic: int) -> int:
        """The different changes of a transaction in a topic."""
        return self._number.get((id_, topic), 0)

    def split(self, id_: str, cuts: Offsets, old: AbstractSet[str]) -> bool:
        """Whether a change that is not there before is behind a cut."""
        return id_ not in old and any(at >= cuts[p] for p, at in self._reach.get(id_, ()))
