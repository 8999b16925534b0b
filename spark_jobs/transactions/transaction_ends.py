"""Transaction ends: where a run has whole transactions of the source. See source/port.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import BaseModel, ConfigDict

from spark_jobs.messages.part import HeldBack, UpTo
from spark_jobs.source.kafka_time import clamped, is_time
from spark_jobs.source.port import Cut
from spark_jobs.source.positions import Positions
from spark_jobs.storage.stored import Stored
from spark_jobs.transactions.declaration import Transactions
from spark_jobs.transactions.look import Begin, Looked, look
from spark_jobs.transactions.view import KafkaView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import End, SourceState
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.transactions.view import View

KEPT = 100
"""Ends: checks may fail for as many runs, and what had passed before is published still."""


class Whole(BaseModel):
    """Offsets that no transaction is on both sides of."""

    model_config = ConfigDict(frozen=True)

    offsets: Positions
    unread: tuple[int, ...]
    """Partitions where nothing is read up to there: a batch may not have them."""
    topic_id: str
    """The transaction topic's, which tells it from one that was made anew."""
    behind: int
    """The offset of the transaction topic behind the END."""
    up_to: UpTo | None
    """That END; None before the first."""

    def is_end_of(self, ends: Positions) -> bool:
        """Whether a batch with these ends has all up to it, and nothing else."""
        lacking = {*self.offsets.partitions} - {*ends.partitions} - {*self.unread}
        return not (lacking or self.offsets.before(ends) or ends.before(self.offsets.among(ends)))


class WholeEnds(Stored):
    """The content of whole.json, the newest last."""

    ends: tuple[Whole, ...] = ()

    @property
    def last(self) -> Whole | None:
        return self.ends[-1] if self.ends else None

    def end_of(self, offsets: Positions) -> Whole | None:
        """The newest one at which such a batch ends."""
        return next((each for each in reversed(self.ends) if each.is_end_of(offsets)), None)

    def note(self, end: Whole, paths: Paths, held: Held) -> None:
        """Note it, before a record behind the last one is read."""
        if end != self.last:
            now = (*self.ends, end)[-KEPT:]
            self.model_copy(update={"ends": now}).put(note_of(paths), held)


def note_of(paths: Paths) -> UPath:
    """Where it is."""
    return paths.version / "whole.json"


def read_whole(paths: Paths) -> WholeEnds:
    """The note; empty without one, and of one that does not parse: a run without it finds its end
    anew, and what no note says is published later.
    """
    try:
        return WholeEnds.read(note_of(paths))
    except FileNotFoundError:
        return WholeEnds()
    except ValueError:
        return WholeEnds().over(note_of(paths))


MOST_TOLD = 5
"""Transactions in a line."""


class TransactionEnds(NamedTuple):
    """Transactions.ends names it."""

    spec: Pipeline
    paths: Paths

    @property
    def told_in(self) -> str:
        """The transaction topic's name."""
        return cast("Transactions", self.spec.publish_at).topic

    def cut(self, state: SourceState, done: Positions, settings: Settings) -> Cut:
        """Looks only where something is new. Raises TransactionsUnusable too."""
        return self.cut_by(state, done, KafkaView(settings, self.spec.inputs, self.told_in))

    def note(self, end: End, held: Held) -> None:
        read_whole(self.paths).note(cast("Whole", end), self.paths, held)

    def at(self, offsets: Positions) -> Whole | None:
        return read_whole(self.paths).end_of(offsets)

    def cut_by(self, state: SourceState, done: Positions, view: View) -> Cut:
        """As cut does; `view` is what is looked at."""
        latest, begins = state.latest, state.begins
        starts = (begins | done).maximum(state.earliest).among(latest)
        last = read_whole(self.paths).last
        if last and _leads_to(last, starts, latest) and done == done.among(last.offsets):
            until = starts.maximum(last.offsets.among(starts))
            goes_on = f"an earlier run has begun to read up to {_name(last)}: first to there"
            return Cut(until, {}, (goes_on,), last)
        if last and last.is_end_of(done) and starts == latest:
            return Cut(latest, {}, (), last)
        told = view.told()
        same = last and last.topic_id in {"", told.id} and last.behind <= told.latest
        if last and not (same and last.is_end_of(done)):
            last = None  # a run without it came between, or the transaction topic is another
        back = starts if last else starts | state.earliest.among(done).among(starts)
        behind = last.behind if last else None
        begin = Begin(starts.by_partition, back.by_partition, behind)
        looked = look(view, told, self.spec.inputs, self.told_in, begin, latest.by_partition)
        return Cut(
            Positions(looked.found.cuts),
            _held(state, looked),
            (*_lines(looked, told.id, self.told_in),),
            _noted(looked, last, starts, done, told.id, self.told_in) if looked.whole else None,
        )


def _leads_to(end: Whole, starts: Positions, latest: Positions) -> bool:
    ends = end.offsets
    outside = ends.before(starts.among(ends)) or latest.before(ends)
    return not outside and starts.before(ends)


def _noted(
    looked: Looked,
    last: Whole | None,
    starts: Positions,
    done: Positions,
    topic_id: str,
    told_in: str,
) -> Whole:
    cuts = Positions(looked.found.cuts)
    reads = starts.counts(cuts)
    up_to = UpTo(topic=told_in, offset=looked.behind - 1, id=looked.id) if looked.id else None
    return Whole(
        offsets=cuts,
        unread=tuple(p for p in reads if p not in done.partitions and not reads[p]),
        topic_id=topic_id,
        behind=looked.behind,
        up_to=up_to or (last.up_to if last else None),
    )


def _held(state: SourceState, looked: Looked) -> dict[int, HeldBack]:
    kept = state.held
    held = dict[int, HeldBack]()
    for p, first in looked.waiting.items():
        behind = state.latest.by_partition[p] - first.offset
        behind += kept[p].offsets if p in kept else 0
        since = clamped(first.millis) if is_time(first.millis) else None
        told = looked.blocking or first.id
        held[p] = HeldBack(offsets=behind, since=since, first=first.offset, transaction=told)
    return held


def _lines(looked: Looked, topic_id: str, told_in: str) -> Iterator[str]:
    if looked.waiting:
        yield (
            "no drain reads these offsets until the transaction topic has its END and the topic "
            "all of its changes. Most connectors write an END with the next transaction. If none "
            "comes, look whether the connector runs"
        )
    if not topic_id and looked.waiting:
        yield f"the brokers have no topic {told_in}: without it no transaction ends"
    if lacking := looked.found.lacking:
        told = ", ".join(lacking[:MOST_TOLD])
        yield (
            f"{len(lacking)} transactions lack changes that come no more, as retention, compaction "
            f"or a transform took them: {told}{' ...' if lacking[MOST_TOLD:] else ''}"
        )


def _name(end: Whole) -> str:
    return f"transaction {end.up_to.id}" if end.up_to else "the first transaction"
