"""Batch offsets: what Kafka shows at a batch's offsets now, and what is at those without a record.

Only Kafka can say that a gap is one. The records are fetched again, and counted in the JVM: nothing
is decoded, and no Python worker starts.

Retention may take offsets of an archive's batch while it runs. If its table lacks them too, the
archive must not say that it has them. Only the table tells what Spark had read before they went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import SparkSession, functions as F

from spark_jobs.checkpoint.notes.removed import Offset, note_removed
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.port import Source
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.source.positions import Positions
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.port import Table


def note_overtaken(paths: Paths, topic_id: str, batch: Batch, first: Positions, held: Held) -> int:
    """Add them to removed.json; how many it did not have yet. Kafka has records from the offsets
    `first` on. `held` is the archive's lease; the batch is not accounted for yet.
    """
    found = overtaken(table_of(paths), topic_id, batch, first)
    return note_removed(paths, found, held)


def overtaken(
    table: Table, topic_id: str, batch: Batch, first: Positions
) -> dict[int, tuple[Offset, ...]]:
    """Partition -> ranges of the batch's offsets that neither Kafka nor the table has."""
    gone = {p: part for p, [part] in first.cut(batch.start.parts(batch.end)).items()}
    there = _stored(table, topic_id, gone) if gone and table.exists() else {}
    lacks = {partition: _lacks(part, there.get(partition, [])) for partition, part in gone.items()}
    return {partition: ranges for partition, ranges in lacks.items() if ranges}


def _lacks(part: Offset, there: list[Offset]) -> tuple[Offset, ...]:
    """What of the part is in none of these ranges, which ascend.

    >>> _lacks((2, 20), [(5, 9), (12, 13)])
    ((2, 5), (9, 12), (13, 20))
    """
    begins = [part[0], *(stop for _, stop in there)]
    stops = [*(begin for begin, _ in there), part[1]]
    return tuple(each for each in zip(begins, stops, strict=True) if each[0] < each[1])


def _stored(table: Table, topic_id: str, parts: dict[int, Offset]) -> dict[int, list[Offset]]:
    where = " OR ".join(
        f'("partition" = {p} AND "offset" >= {begin} AND "offset" < {stop})'
        for p, (begin, stop) in parts.items()
    )
    # Consecutive offsets are as far from their place in the order as each other.
    places = (
        'SELECT "partition", "offset", "offset" - row_number() OVER (PARTITION BY "partition" '
        f"ORDER BY \"offset\") AS run FROM t WHERE topic_id = '{topic_id}' AND ({where})"
    )
    sql = (
        'SELECT "partition" AS p, min("offset") AS begin, max("offset") + 1 AS stop '
        f'FROM ({places}) GROUP BY "partition", run ORDER BY 1, 2'
    )
    found: dict[int, list[Offset]] = {partition: [] for partition in parts}
    for row in table.query(sql).to_pylist():
        found[row["p"]].append((row["begin"], row["stop"]))
    return found


class Visible(NamedTuple):
    """What Kafka has at the batch's offsets now."""

    committed: int
    """Records that a read_committed consumer sees, as Spark is one."""
    aborted: int = 0
    """Those that only a read_uncommitted consumer sees: of aborted transactions."""
    there: Batch | None = None
    """The part of the batch that retention has left; None if nobody has asked."""


def visible(source: Source, spark: SparkSession, batch: Batch) -> Visible:
    """Count in both ways, in one Spark job."""
    there = batch.since(source.earliest(batch.end.partitions))
    seen = [
        source.read(spark, there.parts, uncommitted=every).select(F.lit(every).alias("every"))
        for every in (False, True)
    ]
    every = F.col("every")
    counted = seen[0].unionAll(seen[1]).agg(F.count_if(~every), F.count_if(every)).collect()
    [(few, many)] = counted
    return Visible(few, max(many - few, 0), there)


class Gaps(NamedTuple):
    """A number of gaps, told apart."""

    aborted: int
    markers: int
    removed: int


def tell_apart(gaps: int, aborted: int, gone: int, *, compacted: bool) -> Gaps:
    """`aborted`: of them, those that a read_uncommitted consumer sees. `gone`: those before the
    first offset that retention has left.

    What is left has no record for anybody: transaction markers, unless Kafka compacts the topic. A
    broker does not tell a marker from a record that compaction removed.

    >>> tell_apart(8, aborted=5, gone=0, compacted=False)
    Gaps(aborted=5, markers=3, removed=0)
    >>> tell_apart(8, aborted=5, gone=0, compacted=True)
    Gaps(aborted=5, markers=0, removed=3)
    """
    aborted = min(aborted, gaps)
    gone = min(gone, gaps - aborted)
    markers = 0 if compacted else gaps - aborted - gone
    return Gaps(aborted, markers, gaps - aborted - markers)
