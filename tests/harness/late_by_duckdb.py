"""Late by DuckDB: which records of a topic, or of several, are late by the rule of Spark's watermark: a
batch judges by the watermark that was in force in the batch before it.

All times are microseconds since 1970.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import duckdb
import pyarrow as pa

from spark_jobs.spec import Pipeline, Tumbling

MICROSECOND = timedelta(microseconds=1)
SENT = pa.schema(
    [("batch", pa.int64()), ("topic", pa.int64()), ("at", pa.int64()), ("enters", pa.bool_())]
)
CLOSES = pa.schema([("batch", pa.int64()), ("newest", pa.int64())])
IN_FORCE = """
CREATE OR REPLACE TEMP VIEW in_force AS
WITH numbers AS (SELECT range AS batch FROM range(-1, {batches})),
reached AS (
    SELECT n.batch, t.range AS topic, max(s.at) AS newest
    FROM numbers n CROSS JOIN range({topics}) t
    LEFT JOIN sent s ON s.topic = t.range AND s.batch <= n.batch AND s.enters GROUP BY ALL
), followed AS (
    SELECT batch, CASE WHEN count(newest) = count(*) THEN min(newest) END AS newest
    FROM reached GROUP BY batch
)
SELECT n.batch, greatest(
    0,
    coalesce((SELECT max(newest // 1000 * 1000) FROM followed f WHERE f.batch < n.batch), 0) - {delay},
    coalesce((SELECT max(newest) FROM closes c WHERE c.batch <= n.batch), 0) - {delay}
) AS mark FROM numbers n
"""
"""Of several topics the slowest counts, once each has had a record. `closes` moved it by a clock."""
LATE = """
SELECT s.batch, count(*) FROM sent s JOIN in_force m ON m.batch = s.batch - 1
WHERE s.enters AND {first_end} <= m.mark GROUP BY s.batch
"""


def first_end(spec: Pipeline) -> str:
    """SQL for the end of the first window that has the time `at`: the record is late if that is
    not above the watermark. Of rows that are dropped one by one it is their own time.
    """
    if (window := spec.entry.grouping_window) is None:
        return "s.at"
    size = window.size // MICROSECOND
    slide = size if isinstance(window, Tumbling) else window.slide // MICROSECOND
    return f"((s.at - {size}) // {slide} + 1) * {slide} + {size}"


class Records:
    """What was sent, by the batches that read it."""

    def __init__(
        self, sent: Iterable[dict[str, Any]], batches: int, topics: int = 1, closes: Any = ()
    ) -> None:
        """`sent` has SENT's columns, `closes` CLOSES'."""
        self._db, self._of = duckdb.connect(), {"batches": batches, "topics": topics}
        for name, rows, schema in (("sent", sent, SENT), ("closes", closes, CLOSES)):
            self._db.register(name, pa.Table.from_pylist(list(rows), schema))

    def in_force(self, delay: timedelta) -> list[int]:
        """The watermark in each batch; at first that before all."""
        self._db.sql(IN_FORCE.format(delay=delay // MICROSECOND, **self._of))
        return [mark for _, mark in self._db.sql("FROM in_force ORDER BY batch").fetchall()]

    def late(self, spec: Pipeline, delay: timedelta) -> dict[int, int]:
        """Batch -> how many of its records are late."""
        self.in_force(delay)
        return dict(self._db.sql(LATE.format(first_end=first_end(spec))).fetchall())
