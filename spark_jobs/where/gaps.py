"""Gaps: an offset at which a consumer of committed records finds nothing, or that no batch has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.repair.offsets.archived import NO_BATCH
from spark_jobs.where.asked import parts_of
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.read import sampled

if TYPE_CHECKING:
    from collections.abc import Collection

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.source.port import SourceState
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.known import Accounted, Known


def without_record(
    settings: Settings, spec: Pipeline, topic: SourceState, gaps: dict[Place, Accounted]
) -> dict[Place, Fate]:
    """Of offsets that batches have read and that Kafka has still, and no record at."""
    if not gaps:
        return {}
    there = sampled(settings, spec, parts_of(gaps), uncommitted=True)
    found: dict[Place, Fate] = {}
    for place, batch in gaps.items():
        fate = Fate(place, Became.MARKER, batch=batch.id, run_id=batch.run_id)
        if place in there:
            fate = fate._replace(became=Became.ABORTED, why="a record of an aborted transaction")
        elif topic.compacted:
            fate = fate._replace(became=Became.REMOVED, why="there is no record any more").but(
                "whether it was a marker, or compaction has removed a record: a broker does not "
                "tell them apart"
            )
        else:
            fate = fate._replace(why="the end of a transaction")
        found[place] = fate
    return found


def unread(
    known: Known | None, topic: SourceState | None, places: Collection[Place]
) -> dict[Place, Fate]:
    """Of offsets that no accounted batch has."""
    return {place: _unread(known, topic, place) for place in places}


def _unread(known: Known | None, topic: SourceState | None, place: Place) -> Fate:
    fate = Fate(place, Became.UNREAD)
    if known is None:
        return fate._replace(why="no run has read a record yet")
    if waits := known.waiting(place):
        number, committed = waits
        what = "is committed" if committed else "is planned"
        why = f"batch {number} {what} and has no account: the next run gives it one"
        return Fate(place, Became.UNTOLD, batch=number).but(why)
    if known.begins.passed(place):
        return fate._replace(why="before the first offset that the checkpoint has read")
    if (batch := known.sliced(place)) is None:
        return fate._replace(why=_ahead(topic, place))
    if batch == NO_BATCH:
        return fate._replace(why="no drain read it: a rebuild had it from the archive")
    gone = "the account of its batch has expired (SLUICE_HISTORY_DAYS)"
    return Fate(place, Became.UNTOLD, batch=batch).but(gone)


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
