"""Reachable: whether the topic is still the one that was planned for, and still has the records;
and the tables beside the stream their versions.

Hours may lie between plan and stage: retention goes on, and a topic may be made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import RecordsUnreachable, SideGone, StagingStale
from spark_jobs.repair.find.plan import offsets_in, places
from spark_jobs.repair.offsets.archived import located
from spark_jobs.repair.offsets.slices import clipped
from spark_jobs.side.sides import gone
from spark_jobs.source.micro_batch import Parts
from spark_jobs.source.sources import source_of
from spark_jobs.source.union import same_topics

if TYPE_CHECKING:
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.spec import Pipeline


def refuse_unreachable(spec: Pipeline, settings: Settings, plan: RepairPlan) -> None:
    """Ask the tables beside the stream, and the broker if the plan reads anything from it.

    Raises SideGone; StagingStale for another topic of the name, RecordsUnreachable if it lacks
    offsets of the plan, and all errors of the source.
    """
    if lost := gone(spec, settings, plan.inputs):
        at = plan.inputs[lost].version
        raise SideGone.of_repair(repair=plan.repair_id, pipeline=spec.name, side=lost, version=at)
    if not plan.parts:
        return
    topic, name = source_of(spec, settings).state(), spec.topic.name
    if not same_topics(plan.topic_id, topic.id):
        raise StagingStale.topic_remade(
            pipeline=spec.name,
            name=name,
            found=topic.id,
            planned=plan.topic_id,
        )
    if lacking := _lacking(plan.parts, topic):
        raise RecordsUnreachable.gone_since_plan(
            pipeline=spec.name,
            count=offsets_in(lacking),
            needed=offsets_in(plan.parts),
            places=places(lacking, spec.topic.shown),
        )


def _lacking(parts: Parts, topic: SourceState) -> Parts:
    before = located(parts, {}, topic.earliest).nowhere
    found = {
        partition: (
            *before.get(partition, ()),
            *clipped(ranges, (topic.latest.get(partition, 0), 2**63 - 1)),
        )
        for partition, ranges in parts.items()
    }
    return {partition: ranges for partition, ranges in found.items() if ranges}
