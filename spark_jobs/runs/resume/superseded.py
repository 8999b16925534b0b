"""Superseded: takes the rejected records of superseded generations out of the ops tables, once a
batch of the present one has read the same offsets and judged them. Those that Kafka has no longer
stay where they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.identity import Superseded
from spark_jobs.ops import ops_tables
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import same_topics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.checkpoint.run import Run
    from spark_jobs.ops.schema import Row

KEPT: Final = ("quarantine", "late")
MOST_PLACES: Final = 1_000
"""Records in one condition."""


def take_out_read_again(run: Run, note: Superseded) -> None:
    """Once done, the note is empty, and there is nothing to do."""
    if same_topics(note.topic_id, run.identity.topic_id):
        now, before = (_rows(run, each) for each in (run.identity.generations, note.generations))
        first, end = _reach(now)
        if now:
            for table in KEPT:
                _take_out(run, table, note, _within(first, end), exact=_gaps(now))
        if not now or end.before(_reach(before)[1]):
            return  # a limit or a stop ended the run: the rest is read by the next
    note.model_copy(update={"generations": ()}).put(run.paths.superseded, run.lease)


def _rows(run: Run, generations: Iterable[str]) -> list[Row]:
    own = ops_tables.equals({"pipeline": run.spec.name})
    rows: list[Row] = ops_tables.query(
        run.paths.root,
        "batches",
        f"SELECT offsets_start, offsets_end, removed FROM batches WHERE {own} AND "
        f"{ops_tables.among('generation', generations)}",
    ).to_pylist()
    return rows


def _reach(rows: list[Row]) -> tuple[Positions, Positions]:
    """The first offset of each partition that a batch has, and the one after the last."""
    first, end = Positions(), Positions()
    for row in rows:
        first = first.minimum(Positions.of_json(row["offsets_start"]))
        end = end.maximum(Positions.of_json(row["offsets_end"]))
    return first, end


def _gaps(rows: list[Row]) -> bool:
    """Records are gone, by retention or compaction: ours may be the last copy."""
    return any(row["removed"] for row in rows)


def _within(first: Positions, end: Positions) -> str:
    each = (
        f'(partition = {p} AND "offset" >= {at} AND "offset" < {stop})'
        for p, [(at, stop)] in first.parts(end).items()
    )
    return f"({' OR '.join(each) or 'false'})"


def _take_out(run: Run, table: str, note: Superseded, within: str, *, exact: bool) -> None:
    """`exact`: only those that are kept again."""
    theirs = f"{ops_tables.among('generation', note.generations)} AND {within}"
    found = _places(run, table, theirs)
    if exact and found:
        ours = f"{ops_tables.among('generation', run.identity.generations)} AND {within}"
        found &= _places(run, table, ours)
        conditions = [f"{theirs} AND ({each})" for each in _at(found)]
    else:
        conditions = [theirs] if found else []
    own = ops_tables.equals({"pipeline": run.spec.name})
    for condition in conditions:
        ops_tables.remove(run.paths.root, table, f"{own} AND {condition}", run.lease)


def _places(run: Run, table: str, where: str) -> set[tuple[int, int]]:
    own = ops_tables.equals({"pipeline": run.spec.name})
    rows = ops_tables.query(
        run.paths.root, table, f'SELECT partition, "offset" FROM {table} WHERE {own} AND {where}'
    ).to_pylist()
    return {(row["partition"], row["offset"]) for row in rows}


def _at(places: set[tuple[int, int]]) -> Iterator[str]:
    """Each of as many places as delta-rs takes: at 6,000 its stack ends."""
    by_partition: dict[int, list[int]] = defaultdict(list)
    for partition, offset in sorted(places):
        by_partition[partition].append(offset)
    for partition, offsets in by_partition.items():
        for begin in range(0, len(offsets), MOST_PLACES):
            part = ", ".join(map(str, offsets[begin : begin + MOST_PLACES]))
            yield f'partition = {partition} AND "offset" IN ({part})'
