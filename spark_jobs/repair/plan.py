"""Plan: which ranges a repair computes again, from which records, and why; without a JVM.

It asks the broker and reads the checkpoint and the ops tables, and writes nothing.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import MAXYEAR, UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.stored import Stored
from spark_jobs.contract.classification import classification
from spark_jobs.contract.errors import (
    AccountBehind,
    RangeInvalid,
    RangeOpen,
    RecordsUnreachable,
)
from spark_jobs.contract.fingerprint import fingerprint
from spark_jobs.contract.kind import RepairKind
from spark_jobs.contract.micro_batch import Offsets
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.ranged import Ranged, ranged
from spark_jobs.contract.span import Span, joined
from spark_jobs.contract.store import is_remote
from spark_jobs.ops import ops_tables
from spark_jobs.repair.late import LateRecord, count_within, waiting
from spark_jobs.repair.slices import Found, offsets_of
from spark_jobs.runs.preflight import Preflight, preflight
from spark_jobs.sink import table
from spark_jobs.storage.delta import is_table
from spark_jobs.storage.object_store import require_writable

if TYPE_CHECKING:
    from spark_jobs.contract.request import Request
    from spark_jobs.contract.settings import Settings
    from spark_jobs.contract.spec import Pipeline

PLAN = "plan.json"
SHOWN = 5
"""Ranges that the plan prints one by one."""


class RepairPlan(Stored):
    """The work of one repair: plan.json in its staging folder. Nothing to do, without spans."""

    repair_id: str
    pipeline: str
    kind: RepairKind
    note: str = ""
    who: str = ""
    approve: str = "unexplained"
    spans: tuple[Span, ...]
    """The positions of the rows that are computed again."""
    needed: tuple[Span, ...]
    """The event times of the records on which they depend."""
    generations: tuple[str, ...]
    """The generations of the checkpoint's batches, the present one last."""
    table_version: int
    """The version of the table that the rows are compared with."""
    spec_digest: str = ""
    """Of the spec and its code: another one cannot be computed by this plan."""
    batch: int
    """The newest batch, which is accounted for."""
    horizon: Offsets
    """Its end: later records are the next drain's."""
    parts: dict[int, tuple[tuple[int, int], ...]]
    """Partition -> ranges of offsets to read from Kafka, each without its end."""
    records: int | None
    """Records at these offsets, as the index counted them; None where it lacks some of them."""
    topic_id: str
    late: int
    """Late records among those that are needed: ops.late has their bytes."""
    until: datetime
    """No drain writes a row before this position any more."""
    lines: tuple[str, ...]
    """The plan for a reader."""

    @property
    def generation(self) -> str:
        return self.generations[-1]

    @property
    def idle(self) -> bool:
        return not self.spans

    def store(self, paths: Paths) -> None:
        """Write it where the stage reads it."""
        folder = paths.staging(self.repair_id)
        if not is_remote(str(folder)):  # an object store has no folders
            folder.mkdir(parents=True, exist_ok=True)
        self.write(folder / PLAN)

    @property
    def offsets(self) -> int:
        """How many offsets are read from Kafka."""
        return sum(last - first for ranges in self.parts.values() for first, last in ranges)


class _Closed(NamedTuple):
    """What is certain of the table before a repair begins."""

    found: Preflight
    until: datetime
    batch: int
    horizon: Offsets


def plan_repair(spec: Pipeline, settings: Settings, request: Request) -> RepairPlan:
    """Find the ranges and the records. Writes nothing.

    Raises RangeUnsupported, RangeInvalid, RangeOpen, AccountBehind, RecordsUnreachable, and all
    errors of the preflight.
    """
    way = ranged(spec)
    paths = Paths(settings.root, spec)
    require_writable(paths)
    # Before the batches are looked at: rows of a batch that ends in between would be taken for
    # rows without a record.
    compared = table.version(paths.table) if is_table(paths.table) else 0
    closed = _closed(way, preflight(spec, settings, paths))
    generations = closed.found.identity.generations
    records = waiting(paths, generations, closed.batch) if request.kind == "repair" else []
    spans, waits = _spans(way, closed, request, records)
    needed = joined(way.needed(span) for span in spans)
    begin = _begin(paths, generations)
    where = (
        offsets_of(paths, generations, needed, begin, closed.horizon) if spans else Found({}, 0, 0)
    )
    _refuse_unreachable(spec, closed, where)
    late = count_within(paths, generations, closed.batch, needed)
    if not where.parts and not late:  # no record has a time there, or no window ends there
        spans = ()
    plan = RepairPlan(
        repair_id=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}",
        pipeline=spec.name,
        kind=request.kind,
        note=request.note,
        who=request.who,
        approve=request.approve or spec.ranges.approve,
        spans=spans,
        needed=needed,
        generations=generations,
        table_version=compared,
        spec_digest=digest(spec),
        batch=closed.batch,
        horizon=closed.horizon,
        parts=where.parts,
        records=None if where.unknown else where.records,
        topic_id=closed.found.topic.id,
        late=late,
        until=closed.until,
        lines=(),
    )
    if plan.offsets > request.most_records:
        raise RangeInvalid(
            f"{spec.name}: {plan.offsets:,} records are to be read, and most_records is "
            f"{request.most_records:,}.",
            "Ask for a shorter range, or allow more records.",
        )
    covered = sum(closed.horizon[p] - begin.get(p, 0) for p in closed.horizon)
    return plan.model_copy(
        update={"lines": _lines(plan, closed, covered, len(records) - waits, waits, where)}
    )


def _closed(way: Ranged, found: Preflight) -> _Closed:
    """Raises RangeOpen before the first batch, AccountBehind while one has no account."""
    name, committed = way.spec.name, found.checkpoint.committed()
    if not committed:
        raise RangeOpen(
            f"{name}: no drain has committed a batch yet, so there is no row to compute again.",
            f"Run it first: `sluice drain {name}`.",
        )
    if found.cursor.audited < committed[-1] or found.checkpoint.planned()[-1] != committed[-1]:
        raise AccountBehind(
            f"{name}: batch {found.checkpoint.planned()[-1]} is not accounted for yet, so nobody "
            "knows which of its records were late.",
            f"Let the next drain do it: `sluice drain {name}`.",
        )
    batch = found.checkpoint.batch(committed[-1])
    until = way.closed_until(batch.watermark)
    if until is None:
        raise RangeOpen(
            f"{name}: there is no watermark yet, so no row is final.",
            "Ask again when drains have read records with later event times.",
        )
    return _Closed(found, until, batch.id, batch.end)


def _spans(
    way: Ranged, closed: _Closed, request: Request, records: list[LateRecord]
) -> tuple[tuple[Span, ...], int]:
    """The ranges, and how many late records are not among them since theirs is not closed."""
    if request.kind != "repair":
        given = Span(*_given(request))
        if given.end > closed.until:
            raise RangeOpen(
                f"{way.spec.name}: drains still write rows of {given}: all before "
                f"{closed.until:%F %H:%M:%S} are final, by the watermark of batch {closed.batch}.",
                "Ask again when the watermark has passed the end, or for a range that ends before.",
            )
        return (given,), 0
    bound = Span(*_given(request)) if request.start is not None else None
    touched = [way.touched(record.event_time, record.missed) for record in records]
    within = [span for span in touched if bound is None or span.overlaps(bound)]
    final = [span for span in within if span.end <= closed.until]
    return joined(final), len(touched) - len(final)


def _given(request: Request) -> tuple[datetime, datetime]:
    if request.start is None or request.end is None:
        message = "contract/request.py refuses this kind without both ends"
        raise AssertionError(message)
    return request.start, request.end


def digest(spec: Pipeline) -> str:
    """Of all on which the computed rows depend."""
    made = [fingerprint(spec, version("pyspark")), classification(spec).model_dump(mode="json")]
    return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _begin(paths: Paths, generations: tuple[str, ...]) -> Offsets:
    """The offsets at which the checkpoint's first batch began: of the oldest row in ops.batches,
    or of the oldest slice, which outlives that row.
    """
    of_it = f"pipeline = '{paths.table.name}' AND {ops_tables.among('generation', generations)}"
    oldest = ops_tables.query(
        paths.root,
        "slices",
        f'SELECT "partition", min(first_offset) AS first FROM slices WHERE {of_it} '
        'GROUP BY "partition"',
    ).to_pylist()
    rows = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT offsets_start FROM batches WHERE {of_it} ORDER BY batch_id LIMIT 1",
    ).to_pylist()
    began = {int(p): at for p, at in json.loads(rows[0]["offsets_start"]).items()} if rows else {}
    for row in oldest:
        began[row["partition"]] = min(row["first"], began.get(row["partition"], row["first"]))
    return began


def _refuse_unreachable(spec: Pipeline, closed: _Closed, where: Found) -> None:
    earliest = closed.found.topic.earliest
    gone = {
        partition: (ranges[0][0], min(earliest.get(partition, 0), ranges[-1][1]) - 1)
        for partition, ranges in where.parts.items()
        if ranges[0][0] < earliest.get(partition, 0)
    }
    if gone:
        told = ", ".join(f"partition {p}: {a:,} to {b:,}" for p, (a, b) in gone.items())
        raise RecordsUnreachable(
            f"{spec.name}: records of the range are no longer in Kafka ({told}), and nothing else "
            "has their bytes.",
            "Ask for a later range; lengthen the topic's retention to reach farther back.",
        )


def _lines(
    plan: RepairPlan, closed: _Closed, covered: int, touching: int, waits: int, where: Found
) -> tuple[str, ...]:
    name, what = plan.pipeline, f"{plan.kind} of"
    final = f"all rows before {closed.until:%F %H:%M:%S} are final (batch {closed.batch})"
    if closed.until.year == MAXYEAR:
        final = "nothing is ever late for it"
    open_yet = (
        (f"  waiting         {waits:,} late records whose rows drains still write",)
        if waits
        else ()
    )
    if plan.idle:
        why = "no late record waits" if plan.kind == "repair" else "no record's rows are there"
        return (f"{name}: nothing to {plan.kind}: {why}; {final}", *open_yet)
    ranges = f"{len(plan.spans)} range" + ("s" if len(plan.spans) > 1 else "")
    shown = "; ".join(map(str, plan.spans[:SHOWN]))
    more = f"; and {len(plan.spans) - SHOWN} more" if len(plan.spans) > SHOWN else ""
    offsets = "  ".join(f"{p}: {at:,}" for p, at in sorted(plan.horizon.items()))
    share = f" ({plan.offsets / covered:.1%})" if covered else ""
    parts = sum(map(len, plan.parts.values()))
    unknown = f"; {where.unknown:,} of unknown event time" if where.unknown else ""
    late = f"{touching:,} in these ranges, " if plan.kind == "repair" else ""
    return (
        f"{name}: {what} {ranges}: {shown}{more} UTC; {final}",
        f"  late records    {late}{plan.late:,} needed, from ops.late",
        *open_yet,
        f"  as of offsets   {offsets} (batch {closed.batch}, audited)",
        f"  reach           records of {'; '.join(map(str, plan.needed[:SHOWN]))}",
        f"  will read       {plan.offsets:,} of {covered:,} records{share} from Kafka, in "
        f"{parts} parts{unknown}",
        f"  compared with   version {plan.table_version} of the table",
    )
