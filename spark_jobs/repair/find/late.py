"""Late: the records in ops.late that no repair has merged yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.spans.position import Position
from spark_jobs.spans.span import Span

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths

FATES: Final = ("merged", "duplicate", "filtered")
Source = Literal["late", "quarantine"]


class LateRecord(NamedTuple):
    """A record that a drain dropped as late."""

    partition: int
    offset: int
    event_time: datetime
    missed: datetime | None
    """The watermark that it missed."""


def waiting_sql(paths: Paths, source: Source, generations: Sequence[str], batch: int) -> str:
    """For FROM: the rows of ops.late or ops.quarantine, up to this batch, whose records have no
    fate in ops.merged. The query names both tables.
    """
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    return (
        f'{source} LEFT ANTI JOIN (SELECT "partition" AS p, "offset" AS o FROM merged '
        f"WHERE {own} AND source = '{source}') AS done "
        f'ON {source}."partition" = done.p AND {source}."offset" = done.o '
        f"WHERE {own} AND batch_id <= {batch}"
    )


def fates(paths: Paths, source: Source, generations: Sequence[str], batch: int) -> Counter[str]:
    """Fate -> how many rows of ops.merged have it, of the records that ops.late or ops.quarantine
    keeps. All others count as one more, "".
    """
    sql = _fates_sql(paths, source, generations, batch)
    rows = ops_tables.query(paths.root, source, sql, "merged").to_pylist()
    return Counter({row["fate"]: row["n"] for row in rows})


def _fates_sql(paths: Paths, source: Source, generations: Sequence[str], batch: int) -> str:
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    return (
        f"SELECT CASE WHEN {ops_tables.among('fate', FATES)} THEN fate ELSE '' END AS fate, "
        f"count(*) AS n FROM merged LEFT SEMI JOIN ("
        f'SELECT "partition" AS p, "offset" AS o FROM {source} '
        f"WHERE {own} AND batch_id <= {batch}) AS kept "
        'ON merged."partition" = kept.p AND merged."offset" = kept.o '
        f"WHERE {own} AND source = '{source}' GROUP BY 1"
    )


def late_fates(paths: Paths, generations: Sequence[str], batch: int) -> tuple[Counter[str], int]:
    """The fates of late records, and how many have none, one that ops.late has twice
    counted once. Of one version of ops.merged: a swap in between would be in one of them alone.
    """
    rows = ops_tables.query(
        paths.root,
        "late",
        f"SELECT fate, n FROM ({_fates_sql(paths, 'late', generations, batch)}) "
        "UNION ALL SELECT NULL AS fate, count(*) AS n FROM "
        '(SELECT DISTINCT "partition", "offset" FROM '
        f"{waiting_sql(paths, 'late', generations, batch)})",
        "merged",
    ).to_pylist()
    found: Counter[str | None] = Counter({row["fate"]: row["n"] for row in rows})
    waits = found.pop(None, 0)
    return Counter({fate: n for fate, n in found.items() if fate is not None}), waits


def count_within(
    paths: Paths, generations: Sequence[str], batch: int, spans: Sequence[Span]
) -> int:
    """How many late records, up to this batch, have an event time in the spans, whether a repair
    has merged them or not.
    """
    if not spans:
        return 0
    return count(paths, "late", generations, batch, Position("event_time").sql(spans))


def count(
    paths: Paths, table: Source, generations: Sequence[str], batch: int, where: str = "true"
) -> int:
    """How many rows ops.late or ops.quarantine has of these generations, up to this batch, for
    which the SQL condition holds.
    """
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    sql = f"SELECT count(*) AS n FROM {table} WHERE {own} AND batch_id <= {batch} AND ({where})"
    [row] = ops_tables.query(paths.root, table, sql).to_pylist()
    found: int = row["n"]
    return found
