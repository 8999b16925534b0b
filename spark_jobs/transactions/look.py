"""Look: finds where a run ends, in the tails of the partitions and of the transaction topic."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.errors import TransactionsUnusable
from spark_jobs.transactions.cut import PATIENCE_MS, Change, End, Found, Tail, cut
from spark_jobs.transactions.view import Mark, counts
from spark_jobs.values.numbering import input_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet

    from spark_jobs.spec import Topic
    from spark_jobs.transactions.view import Told, View


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


LOOKED_AT: Final = 250_000
"""Of all partitions together so many of the newest offsets, for memory's sake: a first load may be
of any size. Transactions of before had time to arrive.
"""
LOOKED_AT_MOST: Final = 1_000_000
"""So many if these do not show an end. If that many do not, nothing is read until they do. So many
of the transaction topic too.
"""
LOOKED_BACK: Final = 20_000
"""Offsets of the transaction topic from before: transactions whose END is there may come again."""


class Begin(NamedTuple):
    """From where is looked."""

    offsets: Mapping[int, int]
    """Of every partition, the first that is not read."""
    back: Mapping[int, int]
    """The first that is looked at: lower where nobody knows whether these are at an END. What was
    read of the transactions amid which they are is seen so.
    """
    behind: int | None
    """The offset of the transaction topic behind the END at which these offsets are; None if they
    are at none.
    """


class Looked(NamedTuple):
    """Where the run ends."""

    found: Found
    whole: bool
    """Whether that is between two transactions."""
    behind: int
    """The offset of the transaction topic behind its newest END."""
    id: str
    """The END's; empty without one."""
    waiting: Mapping[int, Change]
    """Partition -> the first change that is not read, of those that have one."""
    blocking: str
    """The transaction with the next END; empty without one."""


def look(
    view: View,
    told: Told,
    topics: Sequence[Topic],
    told_in: str,
    begin: Begin,
    latest: Mapping[int, int],
) -> Looked:
    """Where a run that begins there ends at the latest. `told_in`: the transaction topic's name.
    Raises what View does.
    """
    oldest = max(told.earliest, told.latest - LOOKED_AT_MOST)
    first = max(oldest, begin.behind or 0)
    known = first == begin.behind  # else an earlier run may not have what ended before
    before = view.marks(max(told.earliest, first - LOOKED_BACK), first) if known else ()
    ended = {each.id for each in before if each.collections is not None}
    share = max(1, LOOKED_AT // max(1, len(latest)))
    tails = dict.fromkeys(latest, Tail((), 0, shortened=True))
    starts, shown = dict(latest), True
    while True:
        seen, starts = starts, {p: max(begin.back[p], end - share) for p, end in latest.items()}
        changes = view.changes({p: (start, seen[p]) for p, start in starts.items()})
        tails = {
            p: Tail((*changes.get(p, ()), *tails[p].changes), end, starts[p] > begin.back[p])
            for p, end in latest.items()
        }
        ids = {each.id for tail in tails.values() for each in tail.changes}
        marks = ends_of(view.marks(first, told.latest), topics, told_in, ids, ended)
        _refuse_unnamed(marks.ends, tails, topics, told_in)
        old = ended | _old(marks, tails, unknown=not known)
        found = cut(marks.ends, tails, marks.open_, old, marks.now)
        blocked = _blocked(marks, tails, found)
        if all(_is_deep(tail, found.cuts[p], blocked) for p, tail in tails.items()):
            break
        share *= 4
        looked_at = sum(min(share, end - begin.back[p]) for p, end in latest.items())
        if not found.ends or looked_at > LOOKED_AT_MOST:
            found, shown = Found(0, begin.back, ()), begin.behind is not None
            break
    whole = shown and all(at >= begin.offsets[p] for p, at in found.cuts.items())
    found = found._replace(cuts={p: max(at, begin.offsets[p]) for p, at in found.cuts.items()})
    last = marks.ends[found.ends - 1] if found.ends else None
    return Looked(
        found,
        whole,
        behind=last.behind if last else first if begin.behind is None else begin.behind,
        id=last.id if last else "",
        waiting=_waiting(tails, found),
        blocking=marks.ends[found.ends].id if found.ends < len(marks.ends) else "",
    )


def _old(marks: Ends, tails: Mapping[int, Tail], *, unknown: bool) -> set[str]:
    """Ids that no mark tells, as they are of before; time says so."""
    since = max(marks.since if unknown else 0, marks.now - PATIENCE_MS)
    changes = (each for tail in tails.values() for each in tail.changes)
    return {each.id for each in changes if each.id not in marks.ids and 0 <= each.millis < since}


def _refuse_unnamed(
    ends: Iterable[End], tails: Mapping[int, Tail], topics: Sequence[Topic], told_in: str
) -> None:
    """Refuse a topic with changes of a transaction whose END names no table of it."""
    known = {end.id: end.counts for end in ends if not end.never}
    for p, tail in tails.items():
        for each in tail.changes:
            if input_of(p) not in known.get(each.id, {input_of(p): 0}):
                topic = topics[input_of(p)]
                raise TransactionsUnusable.not_counted(
                    topic=topic.name, transactions=told_in, id=each.id
                )


def _waiting(tails: Mapping[int, Tail], found: Found) -> dict[int, Change]:
    behind = {
        p: next((each for each in tail.changes if each.id and each.offset >= found.cuts[p]), None)
        for p, tail in tails.items()
    }
    return {p: each for p, each in behind.items() if each}


def _blocked(marks: Ends, tails: Mapping[int, Tail], found: Found) -> float:
    ends = (each.begun for each in marks.ends[found.ends :])
    waiting = (each.millis for each in _waiting(tails, found).values())
    return min((*ends, *marks.begun, *waiting), default=inf)


def _is_deep(tail: Tail, cut_at: int, blocked: float) -> bool:
    if not tail.shortened or blocked == inf:
        return True
    first = next(iter(tail.changes), None)
    return first is not None and (
        bool(first.id and cut_at > first.offset) or 0 <= first.millis < blocked
    )
