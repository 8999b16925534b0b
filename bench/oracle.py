"""DuckDB says what the table must hold, from the ledger alone; a time counts only when the table
holds exactly that.
"""

from __future__ import annotations

from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa

from local import ledger

COLUMNS = (
    "window_start, window_end, carrier, origin, flights, mean_delay_minutes, "
    "max_delay_minutes, cancellations"
)
EXPECTED = """
    with departures as (
        select distinct on (event_id) * from sent where kind in ('good', 'duplicate') and event_type = 'departure'
    ), windows as (
        select time_bucket(interval 1 hour, event_time) as window_start,
            time_bucket(interval 1 hour, event_time) + interval 1 hour as window_end, carrier, origin,
            count(*) as flights, avg(delay_minutes) as mean_delay_minutes,
            max(delay_minutes) as max_delay_minutes, count(*) filter (cancelled) as cancellations
        from departures group by all
    )
    select * from windows where window_end <= (select max(event_time) - interval 2 hours from departures)
"""
ROUNDED = "select * replace (round(mean_delay_minutes, 6) as mean_delay_minutes)"


class WrongResult(Exception):
    """An arm's table is not what DuckDB computed: its times count for nothing."""


def hold(table: Path, ledger_folder: Path, arm: str) -> int:
    """The rows of the table, which are those that DuckDB computes over all deliveries so far.

    Raises WrongResult.
    """
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.register("sent", ledger.read(ledger_folder))
        db.register("found", _read(table))
        db.execute(f"create table expected as {EXPECTED}")
        missing, surplus, rows = (
            _count(db, query)
            for query in (
                f"({ROUNDED} from expected) except all ({ROUNDED} from found)",
                f"({ROUNDED} from found) except all ({ROUNDED} from expected)",
                "select * from expected",
            )
        )
    if missing or surplus:
        message = (
            f"{arm}: {missing} of {rows} rows are missing from {table} and {surplus} are too many"
        )
        raise WrongResult(message)
    return rows


def _read(table: Path) -> pa.Table:
    found = deltalake.QueryBuilder().register("found", deltalake.DeltaTable(str(table)))
    return pa.table(found.execute(f"select {COLUMNS} from found").read_all())


def _count(db: duckdb.DuckDBPyConnection, query: str) -> int:
    [[count]] = db.execute(f"select count(*) from ({query})").fetchall()
    return int(count)
