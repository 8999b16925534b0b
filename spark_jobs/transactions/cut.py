"""Cut: up to where each partition is read, so that whole transactions of the source are read and no
part of another.

A connector sends one transaction behind the other, and its changes in the order of their numbers.
So a partition that shows a later change gets nothing earlier any more. Nothing else says so, but
time.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.values.numbering import input_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set as AbstractSet


PATIENCE_MS: Final = 3_600_000
"""What is not there so long before the newest BEGIN or END comes no more, by Kafka's timestamps."""


class Change(NamedTuple):
    """A record of a transaction. Others stand for themselves, wherever they are."""

    offset: int
    id: str
    """Empty of a record of no transaction."""
    order: int
    """Its number among the transaction's changes of its table. What comes again has the same."""
    millis: int
    """Its Kafka timestamp."""


class End(NamedTuple):
    """An END of the transaction topic. Or a BEGIN whose END comes no more: it counts nothing."""

    id: str
    counts: Mapping[int, int]
    """Number of a topic -> the transaction's changes in it; other topics are not there."""
    behind: int
    """The offset behind it."""
    millis: int
    """Its Kafka timestamp."""
    begun: int = 0
    """Its BEGIN's; 0 if nobody knows."""
    never: bool = False
    """Whether its END comes no more."""


class Tail(NamedTuple):
    """What a partition has that is looked at."""

    changes: Sequence[Change]
    end: int
    shortened: bool = False
    """Whether more is read than is looked at: from before these changes."""


class Found(NamedTuple):
    """Where a run ends."""

    ends: int
    """So many of the ENDs are of transactions that it has."""
    cuts: Mapping[int, int]
    lacking: tuple[str, ...]
    """Transactions of these that lack changes which come no more."""


def cut(
    ends: Sequence[End],
    tails: Mapping[int, Tail],
    open_: Mapping[str, int],
    old: AbstractSet[str],
    now: int,
) -> Found:
    """Behind the newest END up to which all are whole. `tails`: of every partition. `open_`: ids
    that have a BEGIN alone -> the number of ENDs before it. `old`: ids of transactions that an
    earlier run has whole: what comes again of them may be anywhere. `now`: the newest time, in ms.
    """
    seen = _Seen(ends, tails, open_, old)
    waits = (n for n in range(len(ends)) if seen.missing(n) and not seen.over(n, now))
    passed = next(waits, len(ends))
    while True:
        cuts = _cuts(tails, {"", *old, *(end.id for end in ends[:passed])})
        first = next((n for n in range(passed) if seen.split(ends[n].id, cuts)), passed)
        if first == passed:
            lacking = (end.id for n, end in enumerate(ends[:passed]) if seen.missing(n))
            return Found(passed, cuts, tuple(dict.fromkeys(lacking)))
        passed = first


def _cuts(tails: Mapping[int, Tail], passed: AbstractSet[str]) -> dict[int, int]:
    return {
        p: next((each.offset for each in tail.changes if each.id not in passed), tail.end)
        for p, tail in tails.items()
    }


class _Seen:
    """What all partitions have of each transaction."""

    def __init__(
        self,
        ends: Sequence[End],
        tails: Mapping[int, Tail],
        open_: Mapping[str, int],
        old: AbstractSet[str],
    ) -> None:
        self._ends, self._old = ends, old
        self._places = dict[str, float]({id_: before - 0.5 for id_, before in open_.items()})
        self._places |= {end.id: n for n, end in reversed([*enumerate(ends)])}
        self._orders = defaultdict[tuple[str, int], set[int]](set)
        self._reach = defaultdict[str, dict[int, int]](dict)
        self._newest = dict.fromkeys(tails, (-1.0, inf))
        self._fronts = dict[int, float]()
        """Topic -> the newest END whose changes may be before what is looked at, of partitions
        where more is read.
        """
        for p, tail in tails.items():
            self._add(p, tail)

    def _add(self, p: int, tail: Tail) -> None:
        came = set[tuple[str, int]]()
        own = (each for each in tail.changes if each.id and each.id not in self._old)
        for each in own:
            at = (self._places.get(each.id, -1.0), float(each.order))
            if tail.shortened and not came:
                front = at[0] - (each.order == 1)
                self._fronts[input_of(p)] = min(front, self._fronts.get(input_of(p), front))
            if (each.id, each.order) not in came:
                came.add((each.id, each.order))
                self._reach[each.id][p] = each.offset
                self._orders[each.id, input_of(p)].add(each.order)
            self._newest[p] = max(self._newest[p], at)

    def missing(self, n: int) -> dict[int, int]:
        """Topic -> the last change that it lacks of the transaction with this END. What comes again
        in another partition is the same change.
        """
        end = self._ends[n]
        if end.id in self._old:
            return {}
        if end.never:
            return {input_of(p): 0 for p in self._reach.get(end.id, ())}
        orders = {topic: self._orders.get((end.id, topic), set()) for topic in end.counts}
        return {
            topic: max(set(range(1, count + 1)) - orders[topic])
            for topic, count in end.counts.items()
            if len(orders[topic]) < count and n > self._fronts.get(topic, -1)
        }

    def over(self, n: int, now: int) -> bool:
        """Whether what it lacks comes no more."""
        end = self._ends[n]
        if end.never or 0 < end.millis < now - PATIENCE_MS:
            return True
        place, lacking = self._places[end.id], self.missing(n)
        return all(
            newest > (place, lacking[input_of(p)])
            for p, newest in self._newest.items()
            if input_of(p) in lacking
        )

    def split(self, id_: str, cuts: Mapping[int, int]) -> bool:
        """Whether a change that is not there before is behind a cut."""
        reach = {} if id_ in self._old else self._reach.get(id_, {})
        return any(at >= cuts[p] for p, at in reach.items())
