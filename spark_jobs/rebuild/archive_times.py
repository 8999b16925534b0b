"""Archive times: the event times of records that only the archive has: by their offsets, for the
index, and by day, for the ranges of the rows that they touch. Without Spark.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.repair.offsets.archived import archive_paths
from spark_jobs.repair.offsets.beginning import NO_BATCH
from spark_jobs.spans.span import EPOCH, FIRST, LAST, MICROSECOND, Span
from spark_jobs.spans.span_sql import floor_sql, microseconds
from spark_jobs.table.delta.answer import answer
from spark_jobs.table.delta.door import open_table

if TYPE_CHECKING:
    from spark_jobs.rebuild.older import Older
    from spark_jobs.rebuild.run import Rebuilding

SLICE = 1_000
"""Offsets."""


class Times(NamedTuple):
    """The event times of good records."""

    days: tuple[Span, ...]
    """Of each day that has some: from the first one to the last one, ascending."""
    outside: int
    """Records whose time is in no range that there can be (spans/span.py)."""


def times(it: Rebuilding, parts: Older) -> Times:
    """The times of the archive's records at these offsets.

    By day, and not from the first one to the last: one record of a clock that was years behind
    would have all rows since then computed again.
    """
    rows = _query(
        it,
        parts,
        f"SELECT CASE WHEN {_REACHED} THEN {floor_sql('at', timedelta(days=1))} END AS day, "
        "min(at) AS first, max(at) AS last, count(*) AS records",
        "WHERE at IS NOT NULL GROUP BY 1 ORDER BY 1",
    ).to_pylist()
    reached = [row for row in rows if row["day"] is not None]
    return Times(
        tuple(
            Span(EPOCH + row["first"] * MICROSECOND, EPOCH + (row["last"] + 1) * MICROSECOND)
            for row in reached
        ),
        sum(row["records"] for row in rows) - sum(row["records"] for row in reached),
    )


def slices(it: Rebuilding, parts: Older) -> pa.Table:
    """The rows of ops.slices for these offsets. A time that is in no range is not among theirs."""
    known = read_identity(it.side)
    assert known is not None  # NEXT has drained
    found = _query(
        it,
        parts,
        'SELECT "partition", min("offset") AS first_offset, max("offset") AS last_offset, '
        f"count(*) AS records, min(CASE WHEN {_REACHED} THEN at END) AS first_event_time, "
        f"max(CASE WHEN {_REACHED} THEN at END) AS last_event_time",
        f'GROUP BY "partition", "offset" / {SLICE} ORDER BY 1, 2',
    )
    places = _stretched(found, parts)
    same = {
        "pipeline": it.following.name,
        "generation": known.generation,
        "batch_id": NO_BATCH,
        "run_id": f"{it.run}-archive",
        "late": 0,
        "first_late_time": None,
        "last_late_time": None,
    }
    columns = [
        pa.array(places[field.name], field.type)
        if field.name in places
        else found[field.name].cast(field.type)
        if field.name in found.column_names
        else pa.array([same[field.name]] * found.num_rows, field.type)
        for field in SCHEMAS["slices"]
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMAS["slices"])


def _stretched(found: pa.Table, parts: Older) -> dict[str, list[int]]:
    """Slices leave no offset of a part out: between two the archive has no record."""
    of, first = (found[name].to_pylist() for name in ("partition", "first_offset"))
    same = [one == two for one, two in pairwise(of)]
    starts = [
        at if before else parts[p][0]
        for p, at, before in zip(of, first, [False, *same], strict=False)
    ]
    ends = [starts[n + 1] if n < len(same) and same[n] else parts[p][1] for n, p in enumerate(of)]
    return {"first_offset": starts, "last_offset": [stop - 1 for stop in ends]}


_REACHED = f"at >= {microseconds(FIRST)} AND at < {microseconds(LAST)}"


def _query(it: Rebuilding, parts: Older, select: str, behind: str) -> pa.Table:
    """The answer for FROM the records at these offsets: `at` is the event time in microseconds
    since 1970, null of a record that is malformed or premature.

    In numbers: delta-rs compares times in nanoseconds, and stops at one of the year 1.
    """
    topic, known = it.following.topic, read_identity(it.side)
    assert known is not None
    at = "CAST(event_time AS BIGINT)"
    if topic.max_ahead is not None:
        ahead = topic.max_ahead // MICROSECOND
        timely = f"{at} <= CAST(kafka_timestamp AS BIGINT) + {ahead}"
        at = f"CASE WHEN kafka_timestamp IS NULL OR {timely} THEN {at} END"
    where = " OR ".join(
        f'("partition" = {p} AND "offset" >= {first} AND "offset" < {stop})'
        for p, (first, stop) in parts.items()
    )
    records = (
        f'SELECT "partition", "offset", {at} AS at FROM archived '
        f"WHERE topic_id = '{known.topic_id}' AND ({where})"
    )
    table = open_table(archive_paths(it.paths.root, topic).table)
    return answer(f"{select} FROM ({records}) {behind}", {"archived": table})
