"""Look: finds where a run ends, in the tails of the partitions and of the transaction topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.errors import TransactionsUnusable
from spark_jobs.runs.transactions.cut import Change, End, Found, Tail, cut
from spark_jobs.runs.transactions.marks import counts
from spark_jobs.spec.topic import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spark_jobs.runs.transactions.marks import Mark
    from spark_jobs.runs.transactions.view import Told, View
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Topic

LOOKED_AT: Final = 1_000_000
"""Of all partitions together so many of the newest offsets, for memory's sake: a first load may be
of any size. So many of the transaction topic too, if no end is known. Transactions of before had
time to arrive.
"""
LOOKED_BACK: Final = 20_000
"""Offsets of the transaction topic from before, in which a transaction is looked for that comes
again.
"""


class Begin(NamedTuple):
    """From where is looked."""

    offsets: Offsets
    """Of every partition, the first that is not read."""
    late: frozenset[int]
    """Partitions whose changes before that nobody knows."""
    behind: int | None
    """The offset of the transaction topic behind the END at which these offsets are; None if they
    are at none.
    """


class Looked(NamedTuple):
    """Where the run ends."""

    found: Found
    behind: int
    """The offset of the transaction topic behind its newest END."""
    id: str
    """The END's; empty without one."""
    waiting: Mapping[int, Change]
    """Partition -> the first change that is not read, of those that have one."""
    blocking: str
    """The transaction with the next END; empty without one."""
    late: frozenset[int]
    """Partitions of which this is still so: none of their changes is read."""


def look(view: View, told: Told, topics: Sequence[Topic], begin: Begin, latest: Offsets) -> Looked:
    """Where a run that begins there ends at the latest. Raises what View does."""
    first = begin.behind or 0
    if not (known := begin.behind is not None and first >= told.earliest):
        first = max(told.earliest, told.latest - LOOKED_AT)
    marks = view.marks(first, told.latest)
    ends = [_end(each, topics) for each in marks if each.collections is not None]
    open_ = {each.id for each in marks} - {each.id for each in ends}
    share = max(1, LOOKED_AT // max(1, len(latest)))
    while True:
        starts = {p: max(begin.offsets[p], end - share) for p, end in latest.items()}
        changes = view.changes({p: (start, latest[p]) for p, start in starts.items()})
        shortened = {p for p, start in starts.items() if start > begin.offsets[p]}
        late = begin.late | shortened
        tails = {p: Tail(changes.get(p, ()), end, p in late) for p, end in latest.items()}
        _refuse_unnamed(ends, tails, topics)
        if known:
            found = cut(ends, tails, open_)
            if _stops(ends, tails, found) - open_:
                back = view.marks(max(told.earliest, first - LOOKED_BACK), first)
                old = {each.id for each in back if each.collections is not None}
                found = cut(ends, tails, open_, old)
        else:
            found = cut(ends, tails, open_, _before(marks, tails))
        any_open = bool(open_) or found.ends < len(ends)
        if not any(_may_be_before(tails[p], found.cuts[p], any_open=any_open) for p in shortened):
            break
        share *= 4
    last = ends[found.ends - 1] if found.ends else None
    waiting = _waiting(tails, found)
    return Looked(
        found,
        behind=last.behind if last else first,
        id=last.id if last else "",
        waiting=waiting,
        blocking=ends[found.ends].id if found.ends < len(ends) else "",
        late=frozenset(p for p in late if waiting.get(p) in tails[p].changes[:1]),
    )


def _end(mark: Mark, topics: Sequence[Topic]) -> End:
    told_in = topics[0].transactions or ""
    return End(mark.id, counts(mark.collections or {}, told_in, topics), mark.offset + 1)


def _refuse_unnamed(
    ends: Iterable[End], tails: Mapping[int, Tail], topics: Sequence[Topic]
) -> None:
    """Refuse a topic with changes of a transaction whose END names no table of it."""
    known = {end.id: end.counts for end in ends}
    for p, tail in tails.items():
        for each in tail.changes:
            if p // PARTITIONS not in known.get(each.id, {p // PARTITIONS: 0}):
                topic = topics[p // PARTITIONS]
                raise TransactionsUnusable.not_counted(
                    topic=topic.name, transactions=topic.transactions, id=each.id
                )


def _before(marks: Sequence[Mark], tails: Mapping[int, Tail]) -> set[str]:
    """Ids of changes that are older than all that the transaction topic tells of."""
    told = {each.id for each in marks}
    since = marks[0].millis if marks else 0
    return {
        each.id
        for tail in tails.values()
        for each in tail.changes
        if each.id not in told and each.millis < since
    }


def _stops(ends: Sequence[End], tails: Mapping[int, Tail], found: Found) -> set[str]:
    """The transactions that keep the cut from being later."""
    waiting = {each.id for each in _waiting(tails, found).values()}
    return waiting | {end.id for end in ends[found.ends : found.ends + 1]}


def _waiting(tails: Mapping[int, Tail], found: Found) -> dict[int, Change]:
    behind = {
        p: next((each for each in tail.changes if each.offset >= found.cuts[p]), None)
        for p, tail in tails.items()
    }
    return {p: each for p, each in behind.items() if each}


def _may_be_before(tail: Tail, cut_at: int, *, any_open: bool) -> bool:
    """Whether the cut of a partition may be before what was looked at of it."""
    return cut_at <= tail.changes[0].offset if tail.changes else any_open
