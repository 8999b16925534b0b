"""What miles_flown must have written, by DuckDB from the ledger."""

from typing import Any

import duckdb
import pyarrow as pa

from spark_jobs.checkpoint.log import Checkpoint

Rows = list[tuple[Any, ...]]


def miles_by_hour(ledger: pa.Table, measure: str, checkpoint: Any = None) -> Rows:
    """Of all good records: the hours that the checkpoint has closed, or without one all."""
    closed = None
    if checkpoint:
        log = Checkpoint(checkpoint)
        closed = log.batch(log.committed()[-1]).watermark
    with duckdb.connect() as db:
        db.sql("SET TimeZone = 'UTC'")
        db.register("ledger", ledger)
        return db.sql(
            f"""
            SELECT time_bucket(INTERVAL 1 HOUR, event_time) AS hour, origin, count(*),
                   {measure}(distance_miles)::BIGINT
            FROM ledger WHERE kind IN ('good', 'duplicate')
            GROUP BY hour, origin
            HAVING hour + INTERVAL 1 HOUR <= coalesce(?, 'infinity'::TIMESTAMPTZ) ORDER BY 1, 2
            """,
            params=[closed],
        ).fetchall()
