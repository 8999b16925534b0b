"""DuckDB says what the table must hold, from the ledger alone; a time counts only when the table
holds exactly that.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import deltalake
import duckdb
import pyarrow as pa


class Wanted(NamedTuple):
    """What a table must hold."""

    columns: str
    """The columns that count, in SQL."""
    query: str
    """Their rows, from the ledger `sent`."""
    rounded: str
    """`select *` of a table, with its doubles rounded: Spark adds them in another order."""


_DELAYS = """
    with departures as (
        select distinct on (event_id) event_time, carrier, origin, delay_minutes, cancelled
        from sent where kind in ('good', 'duplicate') and event_type = 'departure'
    ), windows as (
        select time_bucket(interval 1 hour, event_time) as window_start,
            time_bucket(interval 1 hour, event_time) + interval 1 hour as window_end, carrier, origin,
            count(*) as flights, avg(delay_minutes) as mean_delay_minutes,
            max(delay_minutes) as max_delay_minutes, count(*) filter (cancelled) as cancellations
        from departures group by all
    )
    select * from windows
    """
_CLOSED = (
    "where window_end <= (select max(event_time) - interval {seconds} seconds from departures)"
)
DELAYS = Wanted(
    "window_start, window_end, carrier, origin, flights, mean_delay_minutes, "
    "max_delay_minutes, cancellations",
    _DELAYS + _CLOSED.format(seconds=2 * 3600),
    "select * replace (round(mean_delay_minutes, 6) as mean_delay_minutes)",
)
"""Of departure_delays."""
ALL_DELAYS = DELAYS._replace(query=_DELAYS)
"""Of who closes every window at its end."""
TALLIES = Wanted(
    "tail_number, records, minutes",
    """
    select tail_number, count(*) as records, sum(delay_minutes)::bigint as minutes
    from sent where kind = 'good' group by all
    """,
    "select *",
)
"""Of tallies, after one batch."""


def delays(delay: timedelta) -> Wanted:
    """Of a pipeline that differs from departure_delays in the watermark's delay alone."""
    return DELAYS._replace(query=_DELAYS + _CLOSED.format(seconds=round(delay.total_seconds())))


class WrongResult(Exception):
    """An arm's table is not what DuckDB computed: its times count for nothing."""


def hold(table: Path, ledger_folder: Path, arm: str, wanted: Wanted = DELAYS) -> int:
    """How many rows the table has, which are those that DuckDB computes over all deliveries so far.

    Raises WrongResult.
    """
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.read_parquet(str(ledger_folder / "delivery-*.parquet")).create_view("sent")
        db.register("found", _read(table, wanted.columns))
        db.execute(f"create table expected as {wanted.query}")
        missing, surplus, rows = (
            _count(db, query)
            for query in (
                f"({wanted.rounded} from expected) except all ({wanted.rounded} from found)",
                f"({wanted.rounded} from found) except all ({wanted.rounded} from expected)",
                "select * from expected",
            )
        )
    if missing or surplus:
        message = (
            f"{arm}: {missing} of {rows} rows are missing from {table} and {surplus} are too many"
        )
        raise WrongResult(message)
    return rows


def _read(table: Path, columns: str) -> pa.Table:
    found = deltalake.QueryBuilder().register("found", deltalake.DeltaTable(str(table)))
    return pa.table(found.execute(f"select {columns} from found").read_all())


def _count(db: duckdb.DuckDBPyConnection, query: str) -> int:
    [[count]] = db.execute(f"select count(*) from ({query})").fetchall()
    return int(count)
