"""Kept: what a repair needs of ops.late and ops.quarantine, as Parquet files in its staging, which
Spark reads.

delta-rs reads the two tables. For Spark, opening and planning them was a quarter of a small repair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.source.place import PLACE, WHOLE, Place, same_sql, selected_sql
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.store import make_folder
from spark_jobs.table.arrow_rows import MOST_BYTES, ROWS_AT_ONCE, few as rows_of, parquet_file
from spark_jobs.values.spans import any_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.repair.find.late import Source
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.storage.root.paths import Paths

VALUE = ("partition", "offset", "kafka_timestamp", "kafka_millis", "key", "value", "headers")
"""The columns of a record in both tables; of a value with many, which the first of them has."""


class Values(NamedTuple):
    """Records of one table."""

    values: UPath
    """VALUE, each value once."""
    elements: UPath | None
    """PLACE of those of their records that are meant, where a value has many; None: all."""


class Kept(NamedTuple):
    """A Parquet file each, or None where there is nothing to read."""

    late: Values | None
    """The late records with a needed event time."""
    quarantine: Values | None
    """The quarantined records that the plan names."""
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
        needed = _stream(paths, "late", _query(plan, "late", PLACE, _needed(plan)), PLACE)
        whole = _query(plan, "late", VALUE, f"element IS NULL AND ({_needed(plan)})")
        late = _values(paths, plan, "late", needed, _stream(paths, "late", whole, VALUE))
        bad = _written(into / "bad.parquet", _in_both(paths, plan, named=False))
        named = _written(into / "named.parquet", _in_both(paths, plan, named=True))
    if plan.quarantined:
        quarantine = _values(paths, plan, "quarantine", _named(paths, plan), _whole(paths, plan))
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


def _values(
    paths: Paths,
    plan: RepairPlan,
    table: Source,
    meant: Iterator[pa.RecordBatch],
    whole: Iterator[pa.RecordBatch],
) -> Values:
    """`meant`: PLACE of the records, `whole`: VALUE of those that are a value."""
    into, of = folder(paths, plan), set[Place]()

    def elements() -> Iterator[pa.RecordBatch]:
        for part in meant:
            some = part.filter(pc.greater(part.column("element"), WHOLE))
            of.update(Place(*at) for at in zip(*some.to_pydict().values(), strict=True))
            yield some

    found = _written(into / f"{table}_elements.parquet", elements())
    _write(into / f"{table}.parquet", VALUE, chain(whole, _with_bytes(paths, plan, table, of)))
    return Values(into / f"{table}.parquet", found)


def _with_bytes(
    paths: Paths, plan: RepairPlan, table: Source, elements: set[Place]
) -> Iterator[pa.RecordBatch]:
    """VALUE of what these are in, each once: the first record of a value has its bytes."""
    left = {each.value for each in elements}
    sql = _query(plan, table, VALUE, f"element IS NOT NULL AND value IS NOT NULL AND {_near(left)}")
    for part in _stream(paths, table, sql, VALUE) if left else ():
        places = [*map(Place, *(part.column(name).to_pylist() for name in VALUE[:2]))]
        at = {place: n for n, place in reversed([*enumerate(places)])}
        first = [place in left and at[place] == n for n, place in enumerate(places)]
        left -= at.keys()
        yield part.filter(pa.array(first, pa.bool_()))


def _whole(paths: Paths, plan: RepairPlan) -> Iterator[pa.RecordBatch]:
    sql = _query(plan, "quarantine", VALUE, f"element IS NULL AND {_near(plan.quarantined)}")
    named = frozenset(plan.quarantined)
    for part in _stream(paths, "quarantine", sql, VALUE):
        places = map(Place, *(part.column(name).to_pylist() for name in VALUE[:2]))
        yield part.filter(pa.array([place in named for place in places], pa.bool_()))


def _near(places: Iterable[Place]) -> str:
    """SQL for all of them, and some between."""
    offsets = defaultdict[int, list[int]](list)
    for partition, offset, _ in places:
        offsets[partition].append(offset)
    near = any_of(
        f'("partition" = {partition} AND "offset" BETWEEN {min(of)} AND {max(of)})'
        for partition, of in offsets.items()
    )
    return f"({near or 'false'})"


def _places(paths: Paths, plan: RepairPlan, within: str) -> Iterator[pa.RecordBatch]:
    if within:
        needed = _query(plan, "late", PLACE, f"({within}) AND ({_needed(plan)})")
        yield from _stream(paths, "late", needed, PLACE)
    if within and plan.quarantined:
        yield from _named(paths, plan)


def _aside(paths: Paths, plan: RepairPlan, within: str) -> Iterator[pa.RecordBatch]:
    if not within:
        return
    late = _query(plan, "late", PLACE, within)
    others = _query(plan, "late", PLACE, f"({within}) AND NOT ({_needed(plan)})")
    yield from _among(plan, _stream(paths, "late", others, PLACE), named=False)
    bad = _beside(_query(plan, "quarantine", PLACE, within), late, "ANTI")
    yield from _among(plan, _stream(paths, "quarantine", bad, PLACE, "late"), named=False)


def _in_both(paths: Paths, plan: RepairPlan, *, named: bool) -> Iterator[pa.RecordBatch]:
    late = _query(plan, "late", PLACE, _needed(plan))
    bad = _beside(_query(plan, "quarantine", PLACE, "true"), late, "SEMI")
    return _among(plan, _stream(paths, "quarantine", bad, PLACE, "late"), named=named)


def _named(paths: Paths, plan: RepairPlan) -> Iterator[pa.RecordBatch]:
    sql = _query(plan, "quarantine", PLACE, _near(plan.quarantined))
    return _among(plan, _stream(paths, "quarantine", sql, PLACE), named=True)


def _among(
    plan: RepairPlan, parts: Iterable[pa.RecordBatch], *, named: bool
) -> Iterator[pa.RecordBatch]:
    these = frozenset(plan.quarantined)
    for part in parts:
        places = map(Place, *(part.column(name).to_pylist() for name in PLACE))
        yield part.filter(pa.array([(place in these) == named for place in places], pa.bool_()))


def _beside(bad: str, late: str, join: Literal["SEMI", "ANTI"]) -> str:
    return (
        f"SELECT bad.* FROM ({bad}) AS bad LEFT {join} JOIN ({late}) AS late_ones "
        f"ON {same_sql('bad', 'late_ones')}"
    )


def _query(plan: RepairPlan, table: Source, columns: Sequence[str], where: str) -> str:
    # A drain after the plan may have added more: those are beyond the plan's offsets.
    own = ops_tables.equals({"pipeline": plan.pipeline})
    generations = ops_tables.among("generation", plan.generations)
    named = selected_sql() if columns == PLACE else ", ".join(f'"{name}"' for name in columns)
    return (
        f"SELECT {named} FROM {table} "
        f"WHERE {own} AND {generations} AND batch_id <= {plan.batch} AND ({where})"
    )


def _stream(
    paths: Paths, table: Source, sql: str, columns: Sequence[str], *others: Source
) -> Iterator[pa.RecordBatch]:
    # delta-rs gives bytes as views, which PyArrow cannot filter.
    schema = arrow_schema(columns)
    return (part.cast(schema) for part in ops_tables.stream(paths.root, table, sql, *others))


def _written(path: UPath, parts: Iterable[pa.RecordBatch]) -> UPath | None:
    return path if _write(path, PLACE, parts) else None


def _write(path: UPath, columns: Sequence[str], parts: Iterable[pa.RecordBatch]) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only a stage writes

    make_folder(path.parent)
    schema, rows = arrow_schema(columns), 0
    with path.open("wb") as file, pq.ParquetWriter(file, schema) as writer:
        for part in parts:
            writer.write_batch(part)
            rows += part.num_rows
    return rows
