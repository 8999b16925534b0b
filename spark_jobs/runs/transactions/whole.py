"""Whole: a preflight whose topic ends where the run has whole transactions of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.notes.whole import Whole, read_whole
from spark_jobs.messages.held_back import HeldBack, held_back_lines
from spark_jobs.messages.up_to import UpTo
from spark_jobs.runs.transactions.look import Begin, Looked, look
from spark_jobs.runs.transactions.view import KafkaView
from spark_jobs.source.kafka_time import clamped, is_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spark_jobs.root.paths import Paths
    from spark_jobs.runs.preflight import Preflight
    from spark_jobs.runs.transactions.view import View
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Pipeline

MOST_TOLD = 5
"""Transactions in a line."""


class Ended(NamedTuple):
    """What a run reads, and where it ends."""

    found: Preflight
    """Its topic's `latest` is that end."""
    end: Whole | None
    """To be noted before the run reads; None of a pipeline that does not ask for it, and where
    nobody knows yet that a transaction read in part has ended.
    """


def ended(found: Preflight, spec: Pipeline, settings: Settings, paths: Paths) -> Ended:
    """Looks only where something is new. Writes nothing.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or TransactionsUnusable.
    """
    if spec.publish_at != "transaction":
        return Ended(found, None)
    return between_transactions(found, spec, paths, KafkaView(settings, spec.topic.each))


def between_transactions(found: Preflight, spec: Pipeline, paths: Paths, view: View) -> Ended:
    """As above; `view` is what is looked at."""
    checkpoint = found.checkpoint
    planned = checkpoint.planned()
    done = checkpoint.batch(planned[-1]).end if planned else {}
    latest, begins = found.topic.latest, found.topic.begins
    starts = {p: max(done.get(p, begins[p]), found.topic.earliest[p]) for p in latest}
    last = read_whole(paths).last
    if last and _leads_to(last, starts, latest) and done.keys() <= last.offsets.keys():
        until = {p: max(last.offsets.get(p, at), at) for p, at in starts.items()}
        goes_on = f"an earlier run has begun to read up to {_name(last)}: first to there"
        return Ended(_ending(found, until, {}, (goes_on,)), last)
    if last and last.is_end_of(done) and starts == latest:
        return Ended(found, last)
    told = view.told()
    same = last and last.topic_id in {"", told.id} and last.behind <= told.latest
    if last and not (same and last.is_end_of(done)):
        last = None  # a run without publish_at came between, or the transaction topic is another
    seen = {} if last else found.topic.earliest
    back = {p: seen.get(p, at) if p in done else at for p, at in starts.items()}
    begin = Begin(starts, back, last.behind if last else None)
    looked = look(view, told, spec.topic.each, begin, latest)
    lines = tuple(_lines(looked, told.id, spec))
    return Ended(
        _ending(found, looked.found.cuts, _held(found, looked), lines),
        _noted(looked, last, starts, done, told.id, spec) if looked.whole else None,
    )


def _leads_to(end: Whole, starts: Offsets, latest: Offsets) -> bool:
    ends = end.offsets
    within = all(starts.get(p, 0) <= at <= latest.get(p, 0) for p, at in ends.items())
    return within and any(starts[p] < at for p, at in ends.items())


def _noted(
    looked: Looked,
    last: Whole | None,
    starts: Offsets,
    done: Offsets,
    topic_id: str,
    spec: Pipeline,
) -> Whole:
    cuts = looked.found.cuts
    topic = spec.topic.each[0].transactions or ""
    up_to = UpTo(topic=topic, offset=looked.behind - 1, id=looked.id) if looked.id else None
    return Whole(
        offsets=cuts,
        unread=tuple(p for p, at in cuts.items() if p not in done and at <= starts[p]),
        topic_id=topic_id,
        behind=looked.behind,
        up_to=up_to or (last.up_to if last else None),
    )


def _held(found: Preflight, looked: Looked) -> dict[int, HeldBack]:
    kept = found.topic.held
    held = dict[int, HeldBack]()
    for p, first in looked.waiting.items():
        behind = found.topic.latest[p] - first.offset + (kept[p].offsets if p in kept else 0)
        since = clamped(first.millis) if is_time(first.millis) else None
        told = looked.blocking or first.id
        held[p] = HeldBack(offsets=behind, since=since, first=first.offset, transaction=told)
    return held


def _ending(
    found: Preflight, until: Offsets, held: dict[int, HeldBack], lines: tuple[str, ...]
) -> Preflight:
    topic = found.topic._replace(latest=until, held={**found.topic.held, **held})
    shown = {found.shown(p): each for p, each in sorted(held.items())}
    return found._replace(topic=topic, told=(*found.told, *held_back_lines(shown), *lines))


def _lines(looked: Looked, topic_id: str, spec: Pipeline) -> Iterator[str]:
    if not topic_id and looked.waiting:
        yield (
            f"the brokers have no topic {spec.topic.each[0].transactions}: without it no "
            "transaction ends"
        )
    if lacking := looked.found.lacking:
        told = ", ".join(lacking[:MOST_TOLD])
        yield (
            f"{len(lacking)} transactions lack changes that come no more, as retention, compaction "
            f"or a transform took them: {told}{' ...' if lacking[MOST_TOLD:] else ''}"
        )


def _name(end: Whole) -> str:
    return f"transaction {end.up_to.id}" if end.up_to else "the first transaction"
