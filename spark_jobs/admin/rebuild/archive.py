"""Archive: the records that the live table was made from and that Kafka has no longer, put into
NEXT's table by a repair whose source is the topic's archive.

NEXT drains what Kafka has. Then the rows that older records touch are computed again from the
archive and from Kafka, as a backfill, which needs no state. The records get slices of their own, so
that they are among the table's records from then on.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import RangeOpen
from spark_jobs.ops import ops_tables
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import NO_BATCH, archive_paths
from spark_jobs.repair.unit.sought import Brought
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.table.tables import own_table
from spark_jobs.values.spans import (
    EPOCH,
    FIRST,
    LAST,
    MICROSECOND,
    Span,
    floor_sql,
    in_brief,
    joined,
    microseconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.storage.root.paths import Paths

SLICE = 1_000
"""Offsets."""
REACHED = f"at >= {microseconds(FIRST)} AND at < {microseconds(LAST)}"
"""Whether the time is in a range that there can be (values/spans.py)."""


class Found(NamedTuple):
    """What the archive's records touch."""

    brought: Brought
    good: bool
    """Whether one of them has an event time in a range that there can be."""
    outside: int
    """Records with another event time."""


def brought(side: Paths, following: Pipeline, parts: Parts, run_id: str) -> Found:
    """Find the rows that the archive's records at these offsets touch, and note where the records
    are. `parts` has one range of a partition; `side` are the paths of NEXT's place.

    Raises RangeOpen while drains of NEXT still write such rows; then nothing is noted.
    """
    [topic] = following.inputs
    rows = _times(side, topic, parts)
    days = [
        Span(_time(row["first"]), _time(row["last"] + 1)) for row in rows if row["day"] is not None
    ]
    spans = _spans(side, following, days)
    known = Identity.read(side.identity)
    same: dict[str, str | int] = {
        "pipeline": side.pipeline,
        "generation": known.generation,
        "batch_id": NO_BATCH,
    }
    slices = [row | same | {"run_id": run_id, "late": 0} for row in _slices(side, topic, parts)]
    ops_tables.replace(side.root, "slices", slices, ops_tables.equals(same))
    outside = sum(row["records"] for row in rows if row["day"] is None)
    # All of them are read, so that the bad ones among them are in quarantine.
    return Found(Brought(parts, spans), bool(days), outside)


def told(found: Found, parts: Parts, bad: int) -> Iterator[str]:
    """What was put in, for a person. `bad`: how many of the records are not good."""
    kept = f"; {bad:,} of them are malformed or premature, and in quarantine" if bad else ""
    spans = in_brief(found.brought.spans)
    of = f"computed {spans} again, with" if found.good else "read"
    yield f"  {of} {offsets_in(parts):,} records that only the archive has{kept}"
    if found.outside:
        yield (
            f"  {found.outside:,} of them have event times that are not of the years {FIRST.year} "
            f"to {LAST.year}: no range has rows of such times, and the rebuilt table has none of "
            "them"
        )


def _spans(side: Paths, spec: Pipeline, days: Sequence[Span]) -> tuple[Span, ...]:
    """If none of the records is good, the first range that there can be: they are read all the
    same.
    """
    way = ranged(spec)
    if not days:
        return (way.touched(FIRST),)
    checkpoint = Checkpoint(side.checkpoint)
    until = way.closed_until(checkpoint.batch(checkpoint.committed()[-1]).watermark)
    near = spec.watermark_delay or timedelta()
    found = joined(
        Span(
            way.touched(max(day.start - near, FIRST)).start,
            way.touched(min(day.end - MICROSECOND + near, LAST - MICROSECOND)).end,
        )
        for day in days
    )
    if until is None or found[-1].end > until:
        raise RangeOpen.archive_open(
            pipeline=spec.name, newest=days[-1].end - MICROSECOND, until=until or "none"
        )
    return found


def _times(side: Paths, topic: Topic, parts: Parts) -> list[dict[str, Any]]:
    """For each day that has good records: their first and last event time, and how many there are;
    a null day for those whose time is in no range.

    By day, and not from the first one to the last: one record of a clock that was years behind
    would have all rows since then computed again.
    """
    day = floor_sql("at", timedelta(days=1))
    return _rows(
        side,
        topic,
        parts,
        f"SELECT CASE WHEN {REACHED} THEN {day} END AS day, min(at) AS first, max(at) AS last, "
        "count(*) AS records",
        "WHERE at IS NOT NULL GROUP BY 1 ORDER BY 1",
    )


def _slices(side: Paths, topic: Topic, parts: Parts) -> list[dict[str, Any]]:
    """The columns of ops.slices that these offsets tell. Slices leave no offset of a part out:
    between two the archive has no record. A time that is in no range is not among theirs.
    """
    rows = _rows(
        side,
        topic,
        parts,
        'SELECT "partition", min("offset") AS first_offset, count(*) AS records, '
        f"min(CASE WHEN {REACHED} THEN at END) AS first_event_time, "
        f"max(CASE WHEN {REACHED} THEN at END) AS last_event_time",
        f'GROUP BY "partition", "offset" / {SLICE} ORDER BY 1, 2',
    )
    for before, row in pairwise([{"partition": None}, *rows]):
        [(first, stop)] = parts[row["partition"]]
        row["last_offset"] = stop - 1
        for name in ("first_event_time", "last_event_time"):
            row[name] = None if row[name] is None else _time(row[name])
        if before["partition"] == row["partition"]:
            before["last_offset"] = row["first_offset"] - 1
        else:
            row["first_offset"] = first
    return rows


def _time(at: int) -> datetime:
    return EPOCH + at * MICROSECOND


def _rows(
    side: Paths, topic: Topic, parts: Parts, select: str, behind: str
) -> list[dict[str, Any]]:
    """The answer for FROM the records at these offsets: `at` is the event time in microseconds
    since 1970, null of a record that is malformed or premature.

    In numbers: delta-rs compares times in nanoseconds, and stops at one of the year 1.
    """
    known = Identity.read(side.identity)
    at = "CAST(event_time AS BIGINT)"
    if topic.max_ahead is not None:
        ahead = topic.max_ahead // MICROSECOND
        timely = f"{at} <= CAST(kafka_timestamp AS BIGINT) + {ahead}"
        at = f"CASE WHEN kafka_timestamp IS NULL OR {timely} THEN {at} END"
    where = " OR ".join(
        f'("partition" = {p} AND "offset" >= {first} AND "offset" < {stop})'
        for p, [(first, stop)] in parts.items()
    )
    records = (
        f'SELECT "partition", "offset", {at} AS at FROM archived '
        f"WHERE topic_id = '{known.topic_id}' AND ({where})"
    )
    table = own_table(archive_paths(side.root, topic).table)
    sql = f"{select} FROM ({records}) {behind}"
    rows: list[dict[str, Any]] = table.query(sql, "archived").to_pylist()
    return rows
