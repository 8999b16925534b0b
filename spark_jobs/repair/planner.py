"""Planner: finds what a repair computes again, and from which records; without a JVM.

It asks the broker and reads the checkpoint and the ops tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.noted_versions import newest_noted
from spark_jobs.errors import AccountBehind
from spark_jobs.journal.runner import settle
from spark_jobs.repair.find.lost import refuse_gone
from spark_jobs.repair.find.plan import Closed, RepairPlan, closed_by, digest, new_id
from spark_jobs.repair.find.plan_text import kept_lines, replay_lines
from spark_jobs.repair.unit.sought import Brought, Sought
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.runs.preflight import preflight
from spark_jobs.source.sources import source_of
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.messages.request import Request
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


def plan_repair(
    spec: Pipeline, settings: Settings, request: Request, brought: Brought | None = None
) -> RepairPlan:
    """Find positions and records. Writes nothing, but completes a change that was begun.

    Raises TableLacks, RangeUnsupported, RangeInvalid, RangeOpen, AccountBehind, RecordsUnreachable,
    SideGone, and all errors of the preflight.
    """
    if request.facts.swaps:
        table_of(Paths(settings.root, spec)).require("replace", f"a {request.kind}")
    unit = unit_of(spec)
    unit.refuse(request)
    way, approve = unit.way, request.approval(spec.ranges.approve)
    paths, source = Paths(settings.root, spec), source_of(spec, settings)
    require_writable(paths)
    settle(paths, "plan of a repair")
    closed = closed_by(way, paths, preflight(Present(spec), source, paths, settings))
    compared, known = _version(paths, closed), closed.found
    found = unit.find(Sought(way, settings, paths, source, closed, request, brought))
    replayed = tuple(sorted(found.replays.records)) if found.replays else ()
    plan = RepairPlan(
        repair_id=new_id(),
        pipeline=spec.name,
        kind=request.kind,
        note=request.note,
        who=request.who,
        approve="always" if found.without or found.where.nowhere else approve,
        spans=found.spans,
        needed=found.needed,
        apart=found.apart,
        generations=known.identity.generations,
        table_version=compared,
        spec_digest=digest(spec),
        batch=closed.batch,
        horizon=closed.horizon,
        parts=found.where.source,
        archived=found.where.archive,
        records=found.records,
        without=found.without,
        topic_id=known.topic.id,
        compacted=known.topic.compacted,
        quarantined=tuple(sorted({*found.used, *(each.place for each in replayed)})),
        replays=replayed,
        late=found.late,
        until=closed.until,
        keys=request.keys,
        outdated=found.outdated,
        lost=found.where.nowhere,
        inputs=newest_noted(known.checkpoint, spec),
        current=found.current,
        lines=(),
    )
    refuse_gone(spec, settings, plan)
    lines = (*found.lines(plan), *(() if plan.idle else kept_lines(spec)))
    if found.replays:
        lines = replay_lines(lines, plan, found.replays, request.reason)
    if plan.spans and (held := holder(paths.staging_lease)):
        lines = (*lines, f"  not now         another repair is being computed by {held}")
    return plan.model_copy(update={"lines": lines})


def _version(paths: Paths, closed: Closed) -> int:
    """The table's version, with the rows of no batch behind the newest; 0 without a table. Raises
    AccountBehind if a drain has just written more.
    """
    version = max(table_of(paths).version(), 0)
    written = table_of(paths).newest_batch(closed.found.identity.owner(paths.pipeline))
    if written > closed.batch:
        raise AccountBehind.not_accounted(pipeline=paths.pipeline, batch=written)
    return version
