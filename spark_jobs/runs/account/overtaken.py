"""Overtaken: offsets of an archive's batch that retention took while it ran.

If its table lacks them too, the archive must not say that it has them. Only the table tells what
Spark had read before they went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.removed import Offset, note_removed
from spark_jobs.source.micro_batch import Batch
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
