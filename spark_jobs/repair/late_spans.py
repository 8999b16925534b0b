"""Late spans: what the late records that wait touch, added up by the query engine of the ops
tables. However many records wait, Python gets a row an interval or a range, and no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.contract.span import EPOCH, MICROSECOND, MOST, Span
from spark_jobs.contract.span_sql import floor_sql, microseconds
from spark_jobs.ops import ops_tables
from spark_jobs.repair.late import waiting_sql

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths
    from spark_jobs.contract.ranged import Ranged
    from spark_jobs.ops.schema import Row


class Touching(NamedTuple):
    """Late records that touch the same times."""

    span: Span
    """Whole intervals, or a range."""
    records: int
    final: bool = True
    """Whether drains write none of the rows any more that they touch."""


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

    def ranges(self, until: datetime | None) -> list[Touching]:
        """The ranges that a repair would compute, as `joined` joins them, oldest first."""
        # A range begins where a time is touched, and none right before it; if there are too many,
        # only behind the widest gaps.
        spans = (
            f"SELECT s, e, count(*) AS n FROM {self._spans} WHERE s < e AND {_final(until)} "
            "GROUP BY s, e"
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

    @property
    def _spans(self) -> str:
        """For FROM: a row a record, from `s` to `e`, in microseconds since 1970."""
        waits = waiting_sql(self.paths, "late", self.generations, self.batch)
        times = (
            "SELECT CAST(event_time AS BIGINT) AS at, CAST(watermark_missed AS BIGINT) AS missed "
            f"FROM {waits}"
        )
        start, end = self.way.touched_sql("at", "missed")
        return f"(SELECT {start} AS s, {end} AS e FROM ({times}))"

    def _query(self, sql: str) -> list[Row]:
        rows: list[Row] = ops_tables.query(self.paths.root, "late", sql, "merged").to_pylist()
        return rows


def _final(until: datetime | None) -> str:
    return "false" if until is None else f"(e <= {microseconds(until)})"


def _span(row: Row) -> Span:
    return Span(EPOCH + row["s"] * MICROSECOND, EPOCH + row["e"] * MICROSECOND)
