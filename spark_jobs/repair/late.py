"""Late: the records in ops.late that no repair has merged yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.contract.position import Position
from spark_jobs.contract.span import Span
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths


class LateRecord(NamedTuple):
    """A record that a drain dropped as late."""

    partition: int
    offset: int
    event_time: datetime
    missed: datetime
    """The watermark that it missed."""


def waiting(paths: Paths, generations: Sequence[str], batch: int) -> list[LateRecord]:
    """The late records of these generations, up to this batch, that have no fate in ops.merged, by
    event time.
    """
    of_it = f"pipeline = '{paths.table.name}' AND {ops_tables.among('generation', generations)}"
    rows = ops_tables.query(
        paths.root,
        "late",
        'SELECT "partition", "offset", event_time, watermark_missed FROM late '
        f"WHERE {of_it} AND batch_id <= {batch} ORDER BY event_time",
    )
    if not rows.num_rows:
        return []
    done = ops_tables.query(
        paths.root,
        "merged",
        f'SELECT "partition", "offset" FROM merged WHERE {of_it} AND source = \'late\'',
    )
    settled = set(zip(*(done.column(n).to_pylist() for n in ("partition", "offset")), strict=True))
    found = (LateRecord(*row.values()) for row in rows.to_pylist())
    return [record for record in found if (record.partition, record.offset) not in settled]


def count_within(
    paths: Paths, generations: Sequence[str], batch: int, spans: Sequence[Span]
) -> int:
    """How many late records, up to this batch, have an event time in the spans, whether a repair
    has merged them or not.
    """
    if not spans:
        return 0
    [row] = ops_tables.query(
        paths.root,
        "late",
        f"SELECT count(*) AS n FROM late WHERE pipeline = '{paths.table.name}' "
        f"AND {ops_tables.among('generation', generations)} AND batch_id <= {batch} "
        f"AND ({Position('event_time').sql(spans)})",
    ).to_pylist()
    found: int = row["n"]
    return found
