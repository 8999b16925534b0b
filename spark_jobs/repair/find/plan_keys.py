"""Plan keys: the plan of a repair in a table that follows a key, whose rows have no place in time.

A replay needs the quarantined records alone, since the table has all else that decides: it reads
neither Kafka nor an archive. Given keys are computed from all records up to the newest batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.analysis.ranged import Ranged, computable
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.made_by import Present
from spark_jobs.errors import AccountBehind, RangeInvalid, RangeUnsupported, RecordsUnreachable
from spark_jobs.journal.runner import settle
from spark_jobs.messages.kind import Reads
from spark_jobs.ops import ops_tables
from spark_jobs.repair.find import quarantine
from spark_jobs.repair.find.closed import Closed, closed_by
from spark_jobs.repair.find.plan import RepairPlan, by_partition, digest, new_id, offsets_in, places
from spark_jobs.repair.find.plan_text import key_lines, replay_lines
from spark_jobs.repair.find.quarantine import Place, used_within
from spark_jobs.repair.find.replaying import Replaying
from spark_jobs.repair.offsets.archived import Where, archive_records, archived_or_why, located
from spark_jobs.repair.offsets.beginning import beginning
from spark_jobs.root.paths import Paths
from spark_jobs.runs.preflight import preflight
from spark_jobs.side.sides import newest
from spark_jobs.source.sources import source_of
from spark_jobs.spans.span import EVER
from spark_jobs.spec.sql.types import names_in
from spark_jobs.storage.object_store import require_writable
from spark_jobs.table.delta.door import open_table

if TYPE_CHECKING:
    from spark_jobs.messages.request import Request
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Parts
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline


NOWHERE: Final = Where({}, {}, {})


class _Sought(NamedTuple):
    way: Ranged
    settings: Settings
    paths: Paths
    source: Source
    closed: Closed
    request: Request


class _Found(NamedTuple):
    """What is read."""

    where: Where
    records: int = 0
    """So many are there, by the accounts of drains, or as they are counted now."""
    used: frozenset[Place] = frozenset()
    """Quarantined records that are in the rows."""
    replays: Replaying | None = None


def plan_keys(spec: Pipeline, settings: Settings, request: Request) -> RepairPlan:
    """Find the records. Writes nothing, but completes a change that was begun.

    Raises RangeUnsupported, RangeInvalid, RangeOpen, AccountBehind, RecordsUnreachable, and all
    errors of the preflight.
    """
    if request.facts.reads not in FINDERS or request.span:
        raise RangeUnsupported.by_keys(pipeline=spec.name, step=type(spec.keyed).__name__)
    _refuse_folded(spec, request)
    _refuse_other_columns(spec, request.keys)
    approve, way = request.approval(spec.ranges.approve), computable(spec)
    paths, source = Paths(settings.root, spec), source_of(spec, settings)
    require_writable(paths)
    settle(paths, "plan of a repair")
    closed = closed_by(way, paths, preflight(Present(spec), source, paths, settings))
    compared = _version(paths, closed)
    read = FINDERS[request.facts.reads](_Sought(way, settings, paths, source, closed, request))
    replayed = tuple(sorted(read.replays.records)) if read.replays else ()
    where, quarantined = read.where, by_partition({*read.used, *(each[:2] for each in replayed)})
    plan = RepairPlan(
        repair_id=new_id(),
        pipeline=spec.name,
        kind=request.kind,
        note=request.note,
        who=request.who,
        approve="always" if where.nowhere else approve,
        spans=EVER if quarantined or any(where) else (),
        needed=EVER,
        generations=closed.found.identity.generations,
        table_version=compared,
        spec_digest=digest(spec),
        batch=closed.batch,
        horizon=closed.horizon,
        parts=where.source,
        archived=where.archive,
        records=read.records,
        topic_id=closed.found.topic.id,
        compacted=closed.found.topic.compacted,
        quarantined=quarantined,
        replays=replayed,
        late=0,
        until=closed.until,
        keys=request.keys,
        lost=where.nowhere,
        inputs=newest(spec, settings),
        lines=(),
    )
    lines = key_lines(plan, closed)
    if read.replays:
        lines = replay_lines(lines, plan, read.replays, request.reason)
    if plan.spans and (held := holder(paths.staging_lease)):
        lines = (*lines, f"  not now         another repair is being computed by {held}")
    return plan.model_copy(update={"lines": lines})


def _version(paths: Paths, closed: Closed) -> int:
    """With the rows of exactly the batches up to the newest. Raises AccountBehind if a drain has
    just written more.
    """
    stored = open_table(paths.table)
    owner = closed.found.identity.owner(paths.pipeline)
    written = stored.transaction_version(owner)
    if written is not None and written > closed.batch:
        raise AccountBehind.not_accounted(pipeline=paths.pipeline, batch=written)
    return stored.version()


def _refuse_folded(spec: Pipeline, request: Request) -> None:
    """Raise RangeUnsupported: the rows do not tell which of their fields only lost records have
    set.
    """
    if spec.keyed is not None and not spec.keyed.highest_decides and request.without_lost:
        raise RangeUnsupported.folded(pipeline=spec.name)


def _refuse_other_columns(spec: Pipeline, keys: str) -> None:
    assert spec.keyed is not None
    columns = {name.lower() for name in spec.topic.columns}
    others = columns - {name.lower() for name in spec.keyed.keys}
    if odd := sorted(names_in(keys) & others):
        raise RangeInvalid.keys_of_others(
            pipeline=spec.name, odd=", ".join(odd), keys=", ".join(spec.keyed.keys)
        )


def _by_quarantined(of: _Sought) -> _Found:
    found = Replaying(of.way, of.closed.until)
    generations = of.closed.found.identity.generations
    for each in quarantine.waiting(
        of.way.spec, of.paths, generations, of.closed.batch, of.request.reason, of.settings
    ):
        found.add(each)
    return _Found(NOWHERE, replays=found)


def _as_given(of: _Sought) -> _Found:
    """Raises RecordsUnreachable, RangeInvalid."""
    known, spec = of.closed.found, of.way.spec
    generations = known.identity.generations
    begin = beginning(of.paths, generations)
    every: Parts = {p: ((begin.get(p, 0), end),) for p, end in of.closed.horizon.items()}
    has, broken = archived_or_why(of.paths.root, spec.topic, known.topic.id)
    where = located(every, has, known.topic.earliest)
    if (offsets := offsets_in(where.source) + offsets_in(where.archive)) > of.request.most_records:
        raise RangeInvalid.too_many_records(
            pipeline=spec.name, offsets=offsets, most_records=of.request.most_records
        )
    if where.nowhere and broken:
        raise broken
    if where.nowhere and not of.request.without_lost:
        raise RecordsUnreachable.keys_gone(
            pipeline=spec.name,
            count=offsets_in(where.nowhere),
            places=places(where.nowhere, spec.topic.shown),
        )
    records = _accounted(of.paths, generations, offsets_in(every))
    if records is None or where.nowhere:
        archive = archive_records(of.paths.root, spec.topic, known.topic.id)
        records = of.source.count(where.source) + archive.count(where.archive)
    used = used_within(of.paths, spec.topic, generations, of.closed.batch, EVER)
    return _Found(where, records, frozenset(used))


def _accounted(paths: Paths, generations: Sequence[str], offsets: int) -> int | None:
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    [row] = ops_tables.query(
        paths.root,
        "batches",
        "SELECT sum(read) AS records, sum(covered) AS offsets, count(*) - count(read) AS unknown "
        f"FROM batches WHERE {own}",
    ).to_pylist()
    whole = row["offsets"] == offsets and not row["unknown"]
    return int(row["records"]) if whole else None


FINDERS: Final[dict[Reads, Callable[[_Sought], _Found]]] = {
    Reads.QUARANTINED: _by_quarantined,
    Reads.GIVEN: _as_given,
}
"""What a kind of repair reads -> how its records are found."""
