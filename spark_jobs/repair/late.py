"""Late: the records in ops.late that no repair has merged yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

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


class Settled(NamedTuple):
    """What a repair made of a late record, or of a quarantined one."""

    partition: int
    offset: int
    fate: str
    """merged, duplicate or filtered."""


def waiting(paths: Paths, generations: Sequence[str], batch: int) -> list[LateRecord]:
    """The late records of these generations, up to this batch, that have no fate in ops.merged, by
    event time.
    """
    found = recorded(paths, generations, batch)
    done = {each[:2] for each in settled(paths, generations)} if found else set()
    return [record for record in found if record[:2] not in done]


def recorded(paths: Paths, generations: Sequence[str], batch: int) -> list[LateRecord]:
    """The late records of these generations, up to this batch, by event time."""
    rows = ops_tables.query(
        paths.root,
        "late",
        'SELECT "partition", "offset", event_time, watermark_missed FROM late '
        f"WHERE {_of(paths, generations)} AND batch_id <= {batch} ORDER BY event_time",
    )
    return [LateRecord(*row.values()) for row in rows.to_pylist()]


def settled(
    paths: Paths, generations: Sequence[str], source: Literal["late", "quarantine"] = "late"
) -> list[Settled]:
    """The fates of the records from that source that are in ops.merged."""
    rows = ops_tables.query(
        paths.root,
        "merged",
        f'SELECT "partition", "offset", fate FROM merged WHERE {_of(paths, generations)} '
        f"AND source = '{source}'",
    )
    return [Settled(*row.values()) for row in rows.to_pylist()]


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
        f"SELECT count(*) AS n FROM late WHERE {_of(paths, generations)} AND batch_id <= {batch} "
        f"AND ({Position('event_time').sql(spans)})",
    ).to_pylist()
    found: int = row["n"]
    return found


def count(paths: Paths, table: str, generations: Sequence[str], batch: int) -> int:
    """How many rows ops.late or ops.quarantine has of these generations, up to this batch."""
    [row] = ops_tables.query(
        paths.root,
        table,
        f"SELECT count(*) AS n FROM {table} WHERE {_of(paths, generations)} "
        f"AND batch_id <= {batch}",
    ).to_pylist()
    found: int = row["n"]
    return found


def _of(paths: Paths, generations: Sequence[str]) -> str:
    return f"pipeline = '{paths.pipeline}' AND {ops_tables.among('generation', generations)}"
