"""Late: the records in ops.late, their fates, and what those touch that no repair has merged yet.

The query engine of the ops tables adds up. However many records wait, Python gets a row an
interval, a range or a partition, and of records those alone whose rows are computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.source.place import Place, same_sql, selected_sql
from spark_jobs.source.positions import Positions
from spark_jobs.values.spans import (
    EPOCH,
    MICROSECOND,
    MOST,
    Span,
    SpanSql,
    floor_sql,
    joined,
    microseconds,
)

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.root.paths import Paths


FATES: Final = ("merged", "duplicate", "filtered")
Source = Literal["late", "quarantine"]


class LateRecord(NamedTuple):
    """A record that a drain dropped as late."""

    place: Place
    event_time: datetime
    missed: datetime | None
    """The watermark that it missed."""


def waiting_sql(paths: Paths, source: Source, generations: Sequence[str], batch: int) -> str:
    """For FROM: the rows of ops.late or ops.quarantine, up to this batch, whose records have no
    fate in ops.merged. The query names both tables.
    """
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    return (
        f"{source} LEFT ANTI JOIN (SELECT {selected_sql()} FROM merged "
        f"WHERE {own} AND source = '{source}') AS done ON {same_sql(source, 'done')} "
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
        f"SELECT {selected_sql()} FROM {source} "
        f"WHERE {own} AND batch_id <= {batch}) AS kept ON {same_sql('merged', 'kept')} "
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
        f"(SELECT DISTINCT {selected_sql()} FROM "
        f"{waiting_sql(paths, 'late', generations, batch)})",
        "merged",
    ).to_pylist()
    found: Counter[str | None] = Counter({row["fate"]: row["n"] for row in rows})
    waits = found.pop(None, 0)
    return Counter({fate: n for fate, n in found.items() if fate is not None}), waits


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


class Touching(NamedTuple):
    """Late records, or changed rows of a table beside the stream, that touch the same times."""

    span: Span
    """Whole intervals, or a range."""
    records: int
    final: bool = True
    """Whether drains write none of the rows any more that they touch."""
    changes: int = 0
    """Changed rows of tables beside the stream; then `records` are none."""


def in_ranges(touching: Sequence[Touching]) -> list[Touching]:
    """The ranges that a repair would compute for these, oldest first."""
    return [
        Touching(
            span,
            sum(each.records for each in touching if each.span.overlaps(span)),
            changes=sum(each.changes for each in touching if each.span.overlaps(span)),
        )
        for span in joined(each.span for each in touching)
    ]


class Tried(NamedTuple):
    """A repair that was computed, and ended as it would again."""

    horizon: Positions
    """At the first records that it did not know."""
    spans: tuple[Span, ...]
    """What it computed, one at least."""


class LateSpans(NamedTuple):
    """Of the waiting records of these generations, up to this batch. One that touches nothing is in
    no span.
    """

    way: Ranged
    paths: Paths
    generations: Sequence[str]
    batch: int

    def extent(self) -> Span | None:
        """From the first that is touched to the last; None without any."""
        [row] = self._query(f"SELECT min(s) AS s, max(e) AS e FROM {self._spans} WHERE s < e")
        return None if row["s"] is None else _span(row)

    def intervals(self, within: Span, length: timedelta, until: datetime | None) -> list[Touching]:
        """The records that touch `within`, by the intervals of it that they touch. It begins and
        ends with one.
        """
        first, behind = microseconds(within.start), microseconds(within.end)
        last = floor_sql(f"least(e, {behind}) - 1", length)
        rows = self._query(
            f"SELECT {floor_sql(f'greatest(s, {first})', length)} AS s, "
            f"{last} + {length // MICROSECOND} AS e, {_final(until)} AS final, count(*) AS n "
            f"FROM {self._spans} WHERE s < e AND e > {first} AND s < {behind} GROUP BY 1, 2, 3"
        )
        return [Touching(_span(row), row["n"], row["final"]) for row in rows]

    def ranges(self, until: datetime | None, bound: Span | None = None) -> list[Touching]:
        """The ranges that a repair would compute, as `joined` joins them, oldest first; `bound`: of
        the records that touch it.
        """
        # A range begins where a time is touched, and none right before it; if there are too many,
        # only behind the widest gaps.
        spans = (
            f"SELECT s, e, count(*) AS n FROM {self._spans} WHERE s < e AND {_final(until)} "
            f"AND {_overlaps(bound)} GROUP BY s, e"
        )
        gaps = (
            "SELECT s, e, n, greatest(s - coalesce(max(e) OVER (ORDER BY s, e "
            f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), s), 0) AS gap FROM ({spans})"
        )
        ranked = (
            "SELECT s, e, n, gap, row_number() OVER (ORDER BY gap DESC, s DESC) AS place "
            f"FROM ({gaps})"
        )
        parts = (
            f"SELECT s, e, n, sum(CASE WHEN gap > 0 AND place < {MOST} THEN 1 ELSE 0 END) "
            f"OVER (ORDER BY s, e) AS part FROM ({ranked})"
        )
        rows = self._query(
            f"SELECT min(s) AS s, max(e) AS e, sum(n) AS n FROM ({parts}) GROUP BY part ORDER BY 1"
        )
        return [Touching(_span(row), row["n"]) for row in rows]

    def too_early(self, until: datetime | None) -> int:
        """How many touch rows that drains still write."""
        [row] = self._query(f"SELECT count(*) AS n FROM {self._spans} WHERE NOT {_final(until)}")
        found: int = row["n"]
        return found

    def untried(self, until: datetime | None, behind: int, tried: Iterable[Tried]) -> int:
        """How many are of a later batch than `behind`, touch final rows alone, and are in none of
        the repairs that were tried.
        """
        found = f"FROM {self._spans} WHERE s < e AND {_final(until)} AND batch_id > {behind}"
        first = self._query(
            'SELECT "partition" AS p, min("offset") AS o, min(s) AS s, max(e) AS e, count(*) AS n '
            f'{found} GROUP BY "partition"'
        )
        # Nearly all repairs ended before these records were late, or computed other times.
        conditions = [sql for each in tried if (sql := _tried(each, first))]
        if not conditions:
            return sum(row["n"] for row in first)
        [row] = self._query(f"SELECT count(*) AS n {found} AND NOT ({' OR '.join(conditions)})")
        left: int = row["n"]
        return left

    def computed(self, spans: Sequence[Span]) -> list[LateRecord]:
        """The records all of whose rows are in one of the spans, at least one, by event time."""
        rows = self.way.rows_of(SpanSql("s", "e")).inside(spans)
        found = self._query(
            f"SELECT {selected_sql()}, at, missed FROM {self._spans} WHERE {rows} ORDER BY at"
        )
        return [
            LateRecord(
                Place.of_row(row),
                _instant(row["at"]),
                None if (missed := row["missed"]) is None else _instant(missed),
            )
            for row in found
        ]

    @property
    def _spans(self) -> str:
        """For FROM: a row a record, from `s` to `e`, in microseconds since 1970."""
        waits = waiting_sql(self.paths, "late", self.generations, self.batch)
        times = (
            f"SELECT {selected_sql()}, batch_id, CAST(event_time AS BIGINT) AS at, "
            f"CAST(watermark_missed AS BIGINT) AS missed FROM {waits}"
        )
        start, end = self.way.touched_sql("at", "missed")
        return f"(SELECT *, {start} AS s, {end} AS e FROM ({times}))"

    def _query(self, sql: str) -> list[Row]:
        rows: list[Row] = ops_tables.query(self.paths.root, "late", sql, "merged").to_pylist()
        return rows


def _final(until: datetime | None) -> str:
    return "false" if until is None else f"(e <= {microseconds(until)})"


def _overlaps(bound: Span | None) -> str:
    if bound is None:
        return "true"
    return f"(s < {microseconds(bound.end)} AND e > {microseconds(bound.start)})"


def _tried(repair: Tried, first: Sequence[Row]) -> str:
    """Empty if the repair had no record. `first`: of each partition the first offset, and the times
    that its records touch.
    """
    known = [row for row in first if repair.horizon.passed(Place(row["p"], row["o"]))]
    touched = [_span(row) for row in known]
    spans = [span for span in repair.spans if any(span.overlaps(each) for each in touched)]
    if not spans:
        return ""
    offsets = repair.horizon.passed_sql(row["p"] for row in known)
    return f"(({offsets}) AND ({SpanSql('s', 'e').inside(spans)}))"


def _span(row: Row) -> Span:
    return Span(_instant(row["s"]), _instant(row["e"]))


def _instant(microsecond: int) -> datetime:
    return EPOCH + microsecond * MICROSECOND
