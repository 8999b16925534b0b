"""Lost: counts what a repair can read at offsets without a slice, and refuses what nobody has, or
has any more, and a plan whose tables beside the stream have lost their versions.

The index says how many records are at the others. Here the plan counts them where they are, and
holds that against what the drain's account says: so the stage always has a number to compare with.
Hours may lie between plan and stage: retention goes on, and a topic may be made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import RecordsUnreachable, SideGone, StagingStale
from spark_jobs.repair.find.plan import offsets_in, places
from spark_jobs.repair.offsets.holes import EVER
from spark_jobs.repair.offsets.slices import less
from spark_jobs.side.port import gone
from spark_jobs.source.positions import Parts
from spark_jobs.source.sources import same_topics, source_of

if TYPE_CHECKING:
    from datetime import datetime

    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.offsets.reach import Reading, TouchedHole
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Records, SourceState
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics


class Counted(NamedTuple):
    """The records at offsets without a slice."""

    found: int
    """How many Kafka and the archive have of them now."""
    offsets: int
    """At so many offsets."""
    lacking: tuple[tuple[TouchedHole, int], ...]
    """The holes where a drain had more, and how many more at most."""
    never_read: int
    """Offsets that nobody has, and that no drain had read: the table lacks none of their rows."""

    @property
    def lost(self) -> int:
        """The most records that the table has and that nobody can read again."""
        return sum(number for _, number in self.lacking)


def count_holes(source: Records, archive: Records, found: Reading) -> Counted:
    """Raises what the source refuses."""
    records, offsets, never_read, lacking = 0, 0, 0, []
    for part in found.holes:
        there = archive.count(part.where.archive) + source.count(part.where.source)
        nowhere, had = offsets_in(part.where.nowhere), part.hole.records
        records, offsets = records + there, offsets + offsets_in(part.hole.parts) - nowhere
        missing = nowhere if had is None else max(0, had - there)
        if missing:
            lacking.append((part, missing))
        elif part.hole.empty:
            never_read += nowhere
    return Counted(records, offsets, tuple(lacking), never_read)


def refuse_lost(spec: Pipeline, found: Reading, newest: datetime | None) -> None:
    """Raise RecordsUnreachable if nobody has the records of a slice. `newest` is their newest event
    time.
    """
    if not found.lost:
        return
    later = (
        f"All records with event times after {newest:%F %H:%M:%S} can be read: ask for a later "
        "range."
        if newest
        else "Ask for a later range."
    )
    raise RecordsUnreachable.gone_from_kafka(
        pipeline=spec.name,
        count=offsets_in(found.lost),
        needed=found.needed,
        places=places(found.lost, spec.inputs.shown),
        later=later,
    )


def refuse_holes(spec: Pipeline, counted: Counted) -> None:
    """Raise RecordsUnreachable if nobody has records whose times no slice says."""
    if counted.lost:
        raise RecordsUnreachable.lost_undated(
            pipeline=spec.name, count=counted.lost, where="; ".join(told(counted, spec.inputs))
        )


def told(counted: Counted, inputs: Topics) -> tuple[str, ...]:
    """The lost ones in words, a hole each."""
    return tuple(
        f"{number:,} of {_batch(part)} "
        f"({places(part.where.nowhere or part.hole.parts, inputs.shown)}), with event times "
        f"{_times(part)}"
        for part, number in counted.lacking
    )


def _batch(part: TouchedHole) -> str:
    return "an early batch" if part.hole.batch is None else f"batch {part.hole.batch}"


def _times(part: TouchedHole) -> str:
    times = part.hole.times
    start = "" if times.start == EVER.start else f"from {times.start:%F %H:%M:%S} on"
    end = "" if times.end == EVER.end else f"before {times.end:%F %H:%M:%S}"
    return " and ".join(filter(None, (start, end))) or "that nobody knows"


def refuse_unreachable(spec: Pipeline, settings: Settings, plan: RepairPlan) -> None:
    """Ask the tables beside the stream, and the broker if the plan reads anything from it.

    Raises SideGone; StagingStale for another topic of the name, RecordsUnreachable if it lacks
    offsets of the plan, and all errors of the source.
    """
    refuse_gone(spec, settings, plan)
    if not plan.parts:
        return
    topic, name = source_of(spec, settings).state(), spec.inputs.name
    if not same_topics(plan.topic_id, topic.id):
        raise StagingStale.topic_remade(
            pipeline=spec.name, name=name, found=topic.id, planned=plan.topic_id
        )
    # What is read as it is now has offsets that no drain reads.
    if not plan.current and (lacking := _lacking(plan.parts, topic)):
        raise RecordsUnreachable.gone_since_plan(
            pipeline=spec.name,
            count=offsets_in(lacking),
            needed=offsets_in(plan.parts),
            places=places(lacking, spec.inputs.shown),
        )


def refuse_gone(spec: Pipeline, settings: Settings, plan: RepairPlan) -> None:
    """Raise SideGone if a table beside the stream has no longer the version that the plan names,
    RecordsUnreachable if a person has taken records away.
    """
    source_of(spec, settings).refuse_gone(plan.parts)
    if lost := gone(spec, settings, plan.inputs):
        at = plan.inputs[lost].version
        raise SideGone.of_repair(repair=plan.repair_id, pipeline=spec.name, side=lost, version=at)


def _lacking(parts: Parts, topic: SourceState) -> Parts:
    return less(parts, topic.earliest.rest(topic.latest.cut(parts)))
