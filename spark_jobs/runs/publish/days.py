"""Days: the days of a table whose rows are final since the version published before, or were
changed by a repair since, for consumers that run by the day; and the repairs published now.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from spark_jobs.messages.event import Repaired
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import FIRST, LAST, MICROSECOND, Span
from spark_jobs.values.times import utc

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.published import Published
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Position


def repaired(paths: Paths, known: Identity, fact: Published) -> tuple[Repaired, ...]:
    """The repairs and undos of the versions after the fact's `before_version`, up to its own.

    Without those that a rewind took back: their rows were in no version that stands. One that was
    undone is told with its undo, if both are new.
    """
    rows = _behind(paths, known, fact, fact.before_version)
    undos = {row["repair_id"] for row in rows if row["state"] == "swapped"}
    return tuple(
        _told(row) for row in rows if row["state"] == "swapped" or row["repair_id"] + UNDO in undos
    )


def differing(paths: Paths, known: Identity, fact: Published) -> list[Span]:
    """The spans in which these repairs and undos changed rows, and those that a RESTORE since then,
    a rewind's or a person's, has changed back.
    """
    before = fact.before_version
    if before is not None:
        before = history.kept_since(table_of(paths), before)
    return [span for row in _behind(paths, known, fact, before) for span in changed_spans(row)]


def changed_spans(row: Row) -> list[Span]:
    """The spans in which a repair or an undo changed rows, in whole hours or days, by its row of
    ops.repairs.
    """
    return [Span(each["start"], each["end"]) for each in row["differing"] or ()]


def _behind(paths: Paths, known: Identity, fact: Published, version: int | None) -> list[Row]:
    ours = ops_tables.among("generation", known.generations)
    return repairs.stored(
        paths.root,
        paths.pipeline,
        f"{ours} AND state IN ('swapped', 'undone') "
        f"AND table_version > {-1 if version is None else version} "
        f"AND table_version <= {fact.table_version}",
    )


def _told(row: Row) -> Repaired:
    return Repaired(
        repair_id=row["repair_id"],
        kind=row["kind"],
        ranges=tuple(Span(each["start"], each["end"]) for each in row["ranges"] or ()),
        added=row["added"] or 0,
        removed=row["removed"] or 0,
        changed=row["changed"] or 0,
        merged=(row["late_merged"] or 0) + (row["replayed"] or 0),
    )


DAY = timedelta(days=1)
LONGEST = timedelta(days=400)
"""Of a gap in event time whose days without rows are told too."""


def days(
    paths: Paths,
    spec: Pipeline,
    known: Identity,
    fact: Published,
    watermarks: tuple[datetime | None, datetime | None],
) -> tuple[date, ...]:
    """The days in UTC, ascending, also those that a RESTORE has changed back; none where no range
    of the output can be computed again.

    `watermarks`: after the fact's batches `before_batch` and `batch`. Without a stateful step no
    day is ever final, and the days are repairs' alone.
    """
    if unranged(spec):
        return ()
    found = {day for span in differing(paths, known, fact) for day in _of(span)}
    if spec.entry is not None:
        way = ranged(spec)
        since, until = map(way.closed_until, watermarks)
        if until is not None:
            found.update(_closed(paths, way.position, since, until))
    return tuple(sorted(found))


def _closed(
    paths: Paths, position: Position, since: datetime | None, until: datetime
) -> Iterator[date]:
    """From the beginning on, and after a gap of years, only days with rows: one record may say that
    it is of 1970.
    """
    day = date.min if since is None else utc(since).date()
    if since is None or until - since > LONGEST:
        ended = utc(until).date()
        yield from (each for each in _with_rows(paths, position) if day <= each < ended)
        return
    while datetime.combine(day, time(), UTC) + DAY <= until:
        yield day
        day += DAY


def _with_rows(paths: Paths, position: Position) -> list[date]:
    table = table_of(paths)
    # Somebody may have renamed it: what passed is published all the same.
    if not table.exists() or position.column not in table.columns():
        return []
    column = f'"{position.column}"'
    at = column if position.edge == "instant" else f"{column} - INTERVAL '1 microsecond'"
    rows = table.query(
        f"SELECT DISTINCT date_trunc('day', {at}) AS day FROM t "
        f"WHERE {position.sql([Span(FIRST, LAST)])}"
    )
    found = (row["day"] for row in rows.to_pylist())
    return [day.date() for day in found if day is not None]


def _of(span: Span) -> Iterator[date]:
    """The span is not empty."""
    day, last = utc(span.start).date(), utc(span.end - MICROSECOND).date()
    while day <= last:
        yield day
        day += DAY
