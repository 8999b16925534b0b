"""Kept: what a repair needs of ops.late and ops.quarantine, as Parquet files in its staging, which
Spark reads.

delta-rs reads the two tables. For Spark, opening and planning them was a quarter of a small repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import pyarrow as pa

from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.store import is_remote
from spark_jobs.table.arrow_rows import MOST_BYTES, ROWS_AT_ONCE, few as rows_of, parquet_file
from spark_jobs.values.spans import any_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.repair.find.late import Source
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.storage.root.paths import Paths

PLACE = ("partition", "offset")
RECORD = (*PLACE, "kafka_timestamp", "kafka_millis", "key", "value", "headers")
"""The columns of a record in both tables."""


class Kept(NamedTuple):
    """A Parquet file each, or None where there is nothing to read."""

    late: UPath | None
    """The late records with a needed event time: RECORD."""
    quarantine: UPath | None
    """The quarantined records that the plan names: RECORD."""
    places: UPath | None
    """PLACE of these at offsets that the plan reads: they are not taken from there."""
    aside: UPath | None
    """PLACE of all others of both at these offsets: they are taken from nowhere."""
    bad: UPath | None
    """PLACE of the late records that a repair has found bad: they are in ops.quarantine as well."""
    named: UPath | None
    """PLACE of the records that the plan names: they are taken from there."""


def folder(paths: Paths, plan: RepairPlan) -> UPath:
    """It has bytes of records, which the ops tables keep for a time only: its writer removes it
    (`remove`) when the rows are computed.
    """
    return paths.staging(plan.repair_id) / "records"


def write(paths: Paths, plan: RepairPlan) -> Kept:
    """Write them, a few thousand at a time. What a killed try has left is overwritten."""
    if plan.current:
        return Kept(None, None, None, None, None, None)
    into = folder(paths, plan)
    late = quarantine = bad = named = None
    if plan.late:
        needed = _query(plan, "late", RECORD, _needed(plan))
        late = into / "late.parquet"
        _write(late, RECORD, ops_tables.stream(paths.root, "late", needed))
        bad = _written(into / "bad.parquet", _in_both(paths, plan, named=False))
        named = _written(into / "named.parquet", _in_both(paths, plan, named=True))
    if plan.quarantined:
        quarantine = into / "quarantine.parquet"
        _write(quarantine, RECORD, _named(paths, plan))
    within = _within(plan)
    places = _written(into / "places.parquet", _places(paths, plan, within))
    aside = _written(into / "aside.parquet", _aside(paths, plan, within))
    return Kept(late, quarantine, places, aside, bad, named)


def few(path: UPath) -> pa.Table | None:
    """The rows of a file, if they are few: Spark would plan its read, and start a task for it."""
    if path.stat().st_size > MOST_BYTES:
        return None
    with parquet_file(path) as parquet:
        found = rows_of(parquet.iter_batches(ROWS_AT_ONCE))
        return None if found is None else pa.Table.from_batches(found, parquet.schema_arrow)


def remove(paths: Paths, plan: RepairPlan) -> None:
    remove_folder(folder(paths, plan))


def arrow_schema(columns: Iterable[str]) -> pa.Schema:
    return pa.schema([SCHEMAS["late"].field(name) for name in columns])


def _within(plan: RepairPlan) -> str:
    reads = [each for parts in (plan.parts, plan.archived) for each in parts.items()]
    return any_of(
        f'("partition" = {partition} AND "offset" >= {first} AND "offset" < {stop})'
        for partition, ranges in reads
        for first, stop in ranges
    )


def _needed(plan: RepairPlan) -> str:
    return plan.needs("event_time")


def _places(paths: Paths, plan: RepairPlan, within: str) -> Iterator[pa.RecordBatch]:
    if within:
        needed = _query(plan, "late", PLACE, f"({within}) AND ({_needed(plan)})")
        yield from ops_tables.stream(paths.root, "late", needed)
    if within and plan.quarantined:
        yield from _named(paths, plan, PLACE)


def _aside(paths: Paths, plan: RepairPlan, within: str) -> Iterator[pa.RecordBatch]:
    if not within:
        return
    late = _query(plan, "late", PLACE, within)
    others = _query(plan, "late", PLACE, f"({within}) AND NOT ({_needed(plan)})")
    for part in ops_tables.stream(paths.root, "late", others):
        yield _of_places(part, PLACE, plan, named=False)
    bad = _beside(_query(plan, "quarantine", PLACE, within), late, "ANTI")
    for part in ops_tables.stream(paths.root, "quarantine", bad, "late"):
        yield _of_places(part, PLACE, plan, named=False)


def _in_both(paths: Paths, plan: RepairPlan, *, named: bool) -> Iterator[pa.RecordBatch]:
    late = _query(plan, "late", PLACE, _needed(plan))
    bad = _beside(_query(plan, "quarantine", PLACE, "true"), late, "SEMI")
    for part in ops_tables.stream(paths.root, "quarantine", bad, "late"):
        yield _of_places(part, PLACE, plan, named=named)


def _named(
    paths: Paths, plan: RepairPlan, columns: Sequence[str] = RECORD
) -> Iterator[pa.RecordBatch]:
    near = any_of(
        f'("partition" = {partition} AND "offset" BETWEEN {min(offsets)} AND {max(offsets)})'
        for partition, offsets in plan.quarantined.items()
    )
    sql = _query(plan, "quarantine", columns, near)
    for part in ops_tables.stream(paths.root, "quarantine", sql):
        yield _of_places(part, columns, plan, named=True)


def _of_places(
    part: pa.RecordBatch, columns: Sequence[str], plan: RepairPlan, *, named: bool
) -> pa.RecordBatch:
    these = {partition: {*offsets} for partition, offsets in plan.quarantined.items()}
    partitions, offsets = (part.column(name).to_pylist() for name in PLACE)
    wanted = [
        (offset in these.get(partition, ())) == named
        for partition, offset in zip(partitions, offsets, strict=True)
    ]
    # delta-rs gives bytes as views, which PyArrow cannot filter.
    return part.cast(arrow_schema(columns)).filter(pa.array(wanted, pa.bool_()))


def _beside(bad: str, late: str, join: Literal["SEMI", "ANTI"]) -> str:
    return (
        f"SELECT bad.* FROM ({bad}) AS bad LEFT {join} JOIN ({late}) AS late_ones "
        'ON bad."partition" = late_ones."partition" AND bad."offset" = late_ones."offset"'
    )


def _query(plan: RepairPlan, table: Source, columns: Iterable[str], where: str) -> str:
    # A drain after the plan may have added more: those are beyond the plan's offsets.
    own = ops_tables.equals({"pipeline": plan.pipeline})
    generations = ops_tables.among("generation", plan.generations)
    named = ", ".join(f'"{name}"' for name in columns)
    return (
        f"SELECT {named} FROM {table} "
        f"WHERE {own} AND {generations} AND batch_id <= {plan.batch} AND ({where})"
    )


def _written(path: UPath, parts: Iterable[pa.RecordBatch]) -> UPath | None:
    return path if _write(path, PLACE, parts) else None


def _write(path: UPath, columns: Iterable[str], parts: Iterable[pa.RecordBatch]) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only a stage writes

    if not is_remote(str(path)):  # an object store has no folders
        path.parent.mkdir(parents=True, exist_ok=True)
    schema, rows = arrow_schema(columns), 0
    with path.open("wb") as file, pq.ParquetWriter(file, schema) as writer:
        for part in parts:
            writer.write_batch(part.cast(schema))
            rows += part.num_rows
    return rows
