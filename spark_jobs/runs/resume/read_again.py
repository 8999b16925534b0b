"""Read again: takes the rejected records of superseded generations out of the ops tables, once a
batch of the present one has read the same offsets: it has judged them, and kept what is still bad.

Those that Kafka has no longer stay where they are.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.notes.superseded import Superseded, read_superseded
from spark_jobs.ops import ops_tables
from spark_jobs.source.micro_batch import Offsets
from spark_jobs.source.union import same_topics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.checkpoint.run import Run
    from spark_jobs.ops.schema import Row

KEPT: Final = ("quarantine", "late")
MOST_PLACES: Final = 1_000
"""Records in one condition."""


def take_out_read_again(run: Run) -> None:
    """Call it when all committed batches have their accounts. Once done, there is nothing to do."""
    note = read_superseded(run.paths)
    if note is None:
        return
    if same_topics(note.topic_id, run.identity.topic_id):
        now, before = (_rows(run, each) for each in (run.identity.generations, note.generations))
        first, end = _reach(now)
        if now:
            for table in KEPT:
                _take_out(run, table, note, _within(first, end), exact=_gaps(now))
        if not now or any(end.get(p, 0) < at for p, at in _reach(before)[1].items()):
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


def _reach(rows: list[Row]) -> tuple[Offsets, Offsets]:
    """The first offset of each partition that a batch has, and the one after the last."""
    first, end = dict[int, int](), dict[int, int]()
    for row in rows:
        for p, at in json.loads(row["offsets_start"]).items():
            first[int(p)] = min(at, first.get(int(p), at))
        for p, at in json.loads(row["offsets_end"]).items():
            end[int(p)] = max(at, end.get(int(p), at))
    return first, end


def _gaps(rows: list[Row]) -> bool:
    """Records are gone, by retention or compaction: ours may be the last copy."""
    return any(row["removed"] for row in rows)


def _within(first: Offsets, end: Offsets) -> str:
    each = (
        f'(partition = {p} AND "offset" >= {at} AND "offset" < {end.get(p, at)})'
        for p, at in sorted(first.items())
    )
    return f"({' OR '.join(each)})"


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
