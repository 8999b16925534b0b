"""Kept: what the ops tables keep of some records: why they were rejected, and who has used them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.repair.offsets.slices import merged
from spark_jobs.source.place import Place
from spark_jobs.values.spans import any_of
from spark_jobs.where.asked import parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spark_jobs.ops.schema import Row
    from spark_jobs.where.known import Accounted, Known

_COLUMNS = {
    "late": "batch_id, run_id, CAST(event_time AS BIGINT) AS at, watermark_missed, step",
    "quarantine": "batch_id, run_id, CAST(event_time AS BIGINT) AS at, kind, reason",
    "merged": "source, repair_id, fate, taken_out_by",
}


class Kept(NamedTuple):
    """By place, rows of the ops tables."""

    stages: frozenset[str]
    """As Known has them."""
    late: dict[Place, list[Row]]
    quarantine: dict[Place, list[Row]]
    merged: dict[Place, list[Row]]

    @classmethod
    def read(cls, known: Known, places: Collection[Place]) -> Kept:
        return cls(known.stages, *(_rows(known, table, places) for table in _COLUMNS))

    def rejected(self, place: Place, batch: Accounted | None) -> Row | None:
        """Why its own batch has malformed or premature it; None if the batch has not. What a repair
        has found bad is in ops.quarantine too, by a run of its own.
        """
        own = (
            row
            for row in self.quarantine.get(place, ())
            if row["run_id"] not in self.stages and (batch is None or row["batch_id"] == batch.id)
        )
        return next(own, None)

    def bad_in_words(self, place: Place, batch: Accounted | None) -> tuple[str, ...]:
        """What repairs have found of it."""
        own = self.rejected(place, batch)
        rows = (row for row in self.quarantine.get(place, ()) if row is not own)
        return tuple(f"run {row['run_id']} found it {row['kind']}: {row['reason']}" for row in rows)


def _rows(known: Known, table: str, places: Collection[Place]) -> dict[Place, list[Row]]:
    found = defaultdict[Place, list[Row]](list)
    if not places:
        return found
    where = any_of(
        f'("partition" = {partition} AND "offset" >= {first} AND "offset" < {stop})'
        for partition, ranges in parts_of(places).items()
        for first, stop in merged(ranges)
    )
    own = ops_tables.of_checkpoint(known.paths.pipeline, known.generations)
    sql = f'SELECT "partition", "offset", {_COLUMNS[table]} FROM {table} WHERE {own} AND ({where})'
    wanted = {*places}
    for row in ops_tables.query(known.paths.root, table, sql).to_pylist():
        if (place := Place(row["partition"], row["offset"])) in wanted:
            found[place].append(row)
    return found


def whole(known: Known, batches: Iterable[Accounted]) -> set[int]:
    """Those of the batches of which every rejected record is kept still."""
    asked = {each.id: each for each in batches}
    if not asked:
        return set()
    own = ops_tables.of_checkpoint(known.paths.pipeline, known.generations)
    within = f"{own} AND batch_id BETWEEN {min(asked)} AND {max(asked)}"
    of = Counter[tuple[int, str]]()
    for table, kind in (("quarantine", "kind"), ("late", "'late'")):
        sql = (
            f"SELECT batch_id, run_id, {kind} AS kind, count(*) AS n FROM {table} WHERE {within} "
            "GROUP BY 1, 2, 3"
        )
        for row in ops_tables.query(known.paths.root, table, sql).to_pylist():
            if row["run_id"] not in known.stages:
                of[row["batch_id"], row["kind"]] += row["n"]
    return {
        each.id
        for each in asked.values()
        if all(
            each.counts[kind] == of[each.id, kind] for kind in ("malformed", "premature", "late")
        )
    }
