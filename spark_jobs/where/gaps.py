"""Gaps: an offset at which a consumer of committed records finds nothing, or that no batch has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.repair.offsets.archived import NO_BATCH
from spark_jobs.where.fate import Became, Fate

if TYPE_CHECKING:
    from collections.abc import Collection

    from spark_jobs.source.place import Place
    from spark_jobs.source.port import SourceState
    from spark_jobs.where.known import Accounted, Known


def without_record(
    place: Place, batch: Accounted, topic: SourceState | None, *, aborted: bool
) -> Fate:
    """Of an offset that a batch has read, and without a committed record; `topic` is None where it
    is in no topic any more.
    """
    fate = Fate(place, Became.REMOVED, batch=batch.id, run_id=batch.run_id)
    if topic is None:
        return fate.but("what was there: the archive has no record, and Kafka is past it")
    if aborted:
        return fate._replace(became=Became.ABORTED, why="a record of an aborted transaction")
    if topic.compacted:
        return fate._replace(why="there is no record any more").but(
            "whether it was a marker, or compaction has removed a record: a broker does not tell "
            "them apart"
        )
    return fate._replace(became=Became.MARKER, why="the end of a transaction")


def unread(
    known: Known | None, topic: SourceState | None, places: Collection[Place]
) -> dict[Place, Fate]:
    """Of offsets that no accounted batch has."""
    if known is None:
        why = "no run has read a record yet"
        return {place: Fate(place, Became.UNREAD, why) for place in places}
    end = known.end(known.audited)
    sliced = known.sliced([place for place in places if end.passed(place)])
    return {place: _unread(known, topic, place, sliced.get(place)) for place in places}


def _unread(known: Known, topic: SourceState | None, place: Place, sliced: int | None) -> Fate:
    fate = Fate(place, Became.UNREAD)
    if (number := known.waiting(place)) is not None:
        why = f"its outcome: batch {number} has no account yet, and the next run gives it one"
        return Fate(place, Became.UNTOLD, batch=number).but(why)
    if known.begins.passed(place):
        return fate._replace(why="before the first offset that the checkpoint has read")
    if sliced == NO_BATCH:
        why = "its outcome: no batch read it, and a rebuild had it from the archive"
        return Fate(place, Became.UNTOLD).but(why)
    if sliced is not None or known.end(known.audited).passed(place):
        gone = "the account of its batch has expired (SLUICE_HISTORY_DAYS)"
        return Fate(place, Became.UNTOLD, batch=sliced).but(gone)
    return fate._replace(why=_ahead(topic, place))


def _ahead(topic: SourceState | None, place: Place) -> str:
    """Of an offset behind the last batch."""
    if topic is None:
        return "behind the last batch; Kafka was not asked"
    if topic.latest.passed(place):
        return "it waits for the next run"
    held = topic.held.get(place.partition)
    if held is not None and topic.latest.back(-held.offsets).passed(place):
        return "behind a transaction that is open yet: no consumer gets it"
    return "Kafka has no such offset yet"
