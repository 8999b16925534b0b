"""Told: the ENDs that matter to a run, of all that the transaction topic tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.transactions.cut import PATIENCE_MS, End
from spark_jobs.transactions.marks import Mark, counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet

    from spark_jobs.spec import Topic


class Ends(NamedTuple):
    """What is kept of the marks: of other tables' transactions the newest END alone."""

    ends: Sequence[End]
    open_: Mapping[str, int]
    """Ids that have a BEGIN alone -> the number of ENDs before it."""
    begun: Sequence[int]
    """Their BEGINs' Kafka timestamps."""
    ids: AbstractSet[str]
    """The `wanted` that have a mark."""
    since: int
    """The oldest mark's Kafka timestamp, in milliseconds; 0 without one."""
    now: int
    """The newest new END's Kafka timestamp. One that comes again says nothing of what a connector
    has sent: behind it may come, whole, what a crash has cut off.
    """


def ends_of(
    marks: Iterable[Mark],
    topics: Sequence[Topic],
    told_in: str,
    wanted: AbstractSet[str],
    old: AbstractSet[str],
) -> Ends:
    """`wanted`: ids of changes that wait. `old`: of ENDs from before these marks."""
    found = list[Mark | End]()
    open_ = dict[str, Mark]()
    ids = set[str]()
    since, replaceable = 0, False
    came, now = set(old), 0
    for mark in marks:
        since = since or mark.millis
        if mark.id in wanted:
            ids.add(mark.id)
        if mark.collections is None:
            open_.setdefault(mark.id, mark)
            if mark.id in wanted:
                found.append(mark)
                replaceable = False
            continue
        begin = open_.pop(mark.id, None)
        if mark.id not in came:
            came.add(mark.id)
            now = mark.millis
        own = counts(mark.collections, told_in, topics)
        if replaceable:
            found.pop()
        found.append(End(mark.id, own, mark.offset + 1, mark.millis, begin.millis if begin else 0))
        replaceable = not own and mark.id not in wanted
    return _Closing(found, open_, now).ends(ids, since)


class _Closing(NamedTuple):
    found: Sequence[Mark | End]
    open_: Mapping[str, Mark]
    now: int

    def ends(self, ids: AbstractSet[str], since: int) -> Ends:
        """The same table's count is the largest that any END of an id says: a connector that begins
        again may send one with less.
        """
        most = dict[str, dict[int, int]]()
        for each in self.found:
            if isinstance(each, End):
                own = most.setdefault(each.id, {})
                own |= {topic: max(own.get(topic, 0), of) for topic, of in each.counts.items()}
        out, waiting = list[End](), dict[str, int]()
        for each in self.found:
            if isinstance(each, End):
                out.append(each._replace(counts=most[each.id]))
            elif each.id not in most and 0 < each.millis < self.now - PATIENCE_MS:
                never = End(each.id, {}, each.offset + 1, each.millis, each.millis, never=True)
                out.append(never)
                most[each.id] = {}
            elif each.id not in most:
                waiting.setdefault(each.id, len(out))
        begun = [each.millis for id_, each in self.open_.items() if id_ not in most]
        return Ends(out, waiting, begun, ids, since, self.now)
