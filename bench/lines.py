"""Lines: rows as JSON, one a line, for a rival that reads no Delta and no Parquet."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa


def write_lines(path: Path, query: str, rows: pa.Table) -> None:
    """What DuckDB makes of `rows` by this query; times in UTC, to the millisecond."""
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.register("rows", rows)
        how = "format json, timestampformat '%Y-%m-%dT%H:%M:%S.%gZ'"
        db.execute(f"copy ({query}) to '{path}' ({how})")
