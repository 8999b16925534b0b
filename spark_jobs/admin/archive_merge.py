"""Archive merge: the records that the live table was made from and that Kafka has no longer, put
into the side table from the topic's archive.

NEXT drains what Kafka has. Then the rows that older records touch are computed again from the
archive and from Kafka, as a backfill, which needs no state. The records get slices of their own, so
that they are among the table's records from then on.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import deltalake
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.admin.older import Older, older
from spark_jobs.admin.side_repair import repair_beside
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.errors import RangeOpen, RebuildRefused
from spark_jobs.contract.paths import archive_table
from spark_jobs.contract.ranged import ranged
from spark_jobs.contract.request import Request
from spark_jobs.contract.span import FIRST, Span
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.repair.archived import Parts
from spark_jobs.repair.beginning import NO_BATCH
from spark_jobs.repair.planner import plan_repair
from spark_jobs.storage.delta import open_table

if TYPE_CHECKING:
    from spark_jobs.admin.rebuild_run import Rebuilding
    from spark_jobs.contract.report import Report

NOTE = "rebuild: the records that only the archive has"
"""Of the repair, by which it is found again."""
SLICE = 1_000
"""Offsets."""


def merge_archived(it: Rebuilding) -> tuple[Report, ...]:
    """Put them in, once; nothing if there are none, or they are in. The report of the backfill.

    Raises RangeOpen while drains of NEXT still write rows that they touch; RangeInvalid for too
    many records; RecordsUnreachable; the problem of the run.
    """
    known, parts = read_identity(it.side), pending(it)
    if known is None or not parts or it.without_lost:
        return ()
    slices = _slices(it, known, parts)
    span = _span(it, slices)
    which = ops_tables.equals({"pipeline": it.following.name, "batch_id": NO_BATCH})
    ops_tables.replace(it.side.root, "slices", slices, which)
    request = Request(
        kind="backfill",
        who=it.who,
        note=NOTE,
        start=span.start,
        end=span.end,
        most_records=it.most_records,
    )
    # All of them are read, so that the bad ones among them are in quarantine.
    every: Parts = {partition: (part,) for partition, part in parts.items()}
    planned = plan_repair(it.following, it.beside, request, every)
    report, _ = repair_beside(it, planned, f"{it.run}-archive")
    timed = pc.any(pc.is_valid(slices["first_event_time"])).as_py()
    it.say(_told(span if timed else None, parts, report.change.newly_bad if report.change else 0))
    return (report,)


def _told(span: Span | None, parts: Older, bad: int) -> str:
    count = sum(stop - first for first, stop in parts.values())
    kept = f"; {bad:,} of them are malformed or premature, and in quarantine" if bad else ""
    of = f"computed {span} again, with" if span else "read"
    return f"  {of} {count:,} records that only the archive has{kept}"


def pending(it: Rebuilding) -> Older:
    """The offsets that are still to be put in."""
    known = read_identity(it.side)
    if known is None or not Checkpoint(it.side.checkpoint).committed():
        return {}
    name = it.following.name
    done = repairs.stored(
        it.side.root,
        name,
        f"{ops_tables.among('generation', known.generations)} "
        f"AND state IN ('swapped', 'canonical') AND request LIKE '%{NOTE}%'",
    )
    if done:
        return {}
    return older(it.paths, it.side, it.live, it.following, {})


def refuse_pending(it: Rebuilding) -> None:
    """Raise RebuildRefused if a switch would lose what only the archive has."""
    if not it.without_lost and (parts := pending(it)):
        count = sum(stop - first for first, stop in parts.values())
        raise RebuildRefused(
            f"{it.following.name}: {count:,} records that only the topic's archive has are not in "
            "the rebuild yet.",
            f"Let it compute them: sluice rebuild {it.following.name} --execute. In Airflow, clear "
            "the task stage, with all behind it. To lose them: add --without-lost.",
        )


def _span(it: Rebuilding, slices: pa.Table) -> Span:
    """The rows that these records touch, or copies of them. If none of them is good, the first
    range that there can be: they are read all the same, and go to quarantine. Raises RangeOpen.
    """
    spec, way = it.following, ranged(it.following)
    checkpoint = Checkpoint(it.side.checkpoint)
    watermark = checkpoint.batch(checkpoint.committed()[-1]).watermark
    times = [
        [at.replace(tzinfo=UTC) for at in slices[name].to_pylist() if at is not None]
        for name in ("first_event_time", "last_event_time")
    ]
    until = way.closed_until(watermark)
    if not times[0]:
        return way.touched(FIRST)
    newest = max(times[1])
    copies = way.touched(newest + spec.watermark_delay if spec.watermark_delay else newest)
    if until is None or copies.end > until:
        raise RangeOpen(
            f"{spec.name}: the topic's archive alone has records up to {newest:%F %H:%M:%S} UTC, "
            "and drains of NEXT still write rows that these touch"
            + (f": all before {until:%F %H:%M:%S} are final." if until else "."),
            "Run it again when Kafka has had newer records. What is computed stays.",
        )
    return Span(way.touched(min(times[0])).start, copies.end)


def _slices(it: Rebuilding, known: Identity, parts: Older) -> pa.Table:
    """The rows of ops.slices for these offsets, from the archive's event times."""
    spec = it.following
    time = "event_time"
    if spec.topic.max_ahead is not None:
        ahead = f"INTERVAL '{spec.topic.max_ahead.total_seconds()} seconds'"
        time = f"CASE WHEN event_time <= kafka_timestamp + {ahead} THEN event_time END"
    where = " OR ".join(
        f'("partition" = {p} AND "offset" >= {first} AND "offset" < {stop})'
        for p, (first, stop) in parts.items()
    )
    table = open_table(archive_table(it.paths.root, spec.topic.name))
    found = pa.table(
        deltalake.QueryBuilder()
        .register("archived", table)
        .execute(
            'SELECT "partition", min("offset") AS first_offset, max("offset") AS last_offset, '
            f"count(*) AS records, min({time}) AS first_event_time, "
            f"max({time}) AS last_event_time FROM archived "
            f"WHERE topic_id = '{known.topic_id}' AND ({where}) "
            f'GROUP BY "partition", "offset" / {SLICE}'
        )
        .read_all()
    )
    same = {
        "pipeline": spec.name,
        "generation": known.generation,
        "batch_id": NO_BATCH,
        "run_id": f"{it.run}-archive",
        "late": 0,
        "first_late_time": None,
        "last_late_time": None,
    }
    return pa.table(
        [
            found[field.name].cast(field.type)
            if field.name in found.column_names
            else pa.array([same[field.name]] * found.num_rows, field.type)
            for field in SCHEMAS["slices"]
        ],
        SCHEMAS["slices"],
    )
