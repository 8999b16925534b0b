"""What each pipeline must give, by DuckDB and plain Python from the ledger and what was late."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import csv

import spark_jobs.pipelines
from tests.harness.replay import Place

SHIPPED = Path(spark_jobs.pipelines.__file__).parent
Row = dict[str, Any]


def events(ledger: pa.Table, late: set[Place]) -> pa.Table:
    """Each good event once, as long as one of its copies was not late."""
    lost = pa.table(
        {"partition": [p for p, _ in late], "offset": [o for _, o in late]},
        schema=pa.schema([("partition", pa.int32()), ("offset", pa.int64())]),
    )
    with _duck(ledger=ledger, lost=lost) as db:
        return db.sql("""
            SELECT DISTINCT event_id, event_type, event_time, scheduled_time, carrier, flight, tail_number, origin,
                   destination, delay_minutes, cancelled, distance_miles
            FROM ledger ANTI JOIN lost USING ("partition", "offset")
            WHERE kind IN ('good', 'duplicate')
        """).to_arrow_table()


def flight_events(found: pa.Table, _watermark: datetime) -> list[Row]:
    """Every event, as soon as it is read."""
    return found.to_pylist()


def departure_delays(found: pa.Table, watermark: datetime) -> list[Row]:
    """The hours that have closed by the watermark."""
    with _duck(found=found) as db:
        return (
            db.sql(
                """
            WITH departures AS (
                SELECT *, time_bucket(INTERVAL 1 HOUR, event_time) AS window_start FROM found WHERE event_type = 'departure'
            )
            SELECT window_start, window_start + INTERVAL 1 HOUR AS window_end, carrier, origin, count(*) AS flights,
                   avg(delay_minutes) AS mean_delay_minutes, max(delay_minutes) AS max_delay_minutes,
                   count_if(cancelled)::BIGINT AS cancellations
            FROM departures WHERE window_start + INTERVAL 1 HOUR <= ?
            GROUP BY window_start, carrier, origin
        """,
                params=[watermark],
            )
            .to_arrow_table()
            .to_pylist()
        )


def aircraft_rotations(found: pa.Table, watermark: datetime) -> list[Row]:
    """The rotations known by the watermark: an aircraft not seen for 48 hours is closed."""
    departures: dict[str, list[Row]] = defaultdict(list)
    for event in found.to_pylist():
        if (
            event["event_type"] == "departure"
            and not event["cancelled"]
            and event["tail_number"] is not None
        ):
            departures[event["tail_number"]].append(event)
    rows = []
    for tail, flights in departures.items():
        flights.sort(key=lambda f: (f["event_time"], f["event_id"]))
        for flight, following in zip(flights, [*flights[1:], None], strict=True):
            unseen_at = flight["event_time"] + timedelta(hours=48)
            back = following if following and following["event_time"] <= unseen_at else None
            closed_at = back["event_time"] if back else unseen_at
            if closed_at <= watermark:
                rows.append(_rotation(tail, flight, back, closed_at))
    return rows


def _rotation(tail: str, flight: Row, back: Row | None, closed_at: datetime) -> Row:
    gap = int((back["event_time"] - flight["event_time"]).total_seconds() // 60) if back else None
    return {
        "tail_number": tail,
        "outcome": "rotation" if back else "unseen",
        "departed_from": flight["origin"],
        "flew_to": flight["destination"],
        "departed_at": flight["event_time"],
        "next_from": back["origin"] if back else None,
        "next_departed_at": back["event_time"] if back else None,
        "minutes_between": gap,
        "closed_at": closed_at,
    }


def aircraft_now(found: pa.Table, _watermark: datetime) -> list[Row]:
    """The newest event of each aircraft with two names, unless that is a cancelled flight."""
    newest: dict[str, Row] = {}
    for event in sorted(found.to_pylist(), key=lambda e: (e["event_time"], e["event_id"])):
        if event["tail_number"] is not None:
            newest[event["tail_number"]] = event
    airlines, airports = names_of("airlines"), names_of("airports")
    return [
        event
        | {
            "airline": airlines[event["carrier"]],
            "destination_airport": airports[event["destination"]],
        }
        for event in newest.values()
        if not event["cancelled"]
    ]


def names_of(of: str) -> dict[str, str]:
    """By code, as the pipeline's file has them."""
    file = SHIPPED / "aircraft_now" / f"{of}.csv"
    return {row["code"]: row["name"] for row in csv.read_csv(file).to_pylist()}


RESULTS = {
    "aircraft_now": aircraft_now,
    "flight_events": flight_events,
    "departure_delays": departure_delays,
    "aircraft_rotations": aircraft_rotations,
}


def comparable(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Rows in one order, with means rounded to what a sum of doubles is good for."""

    def cell(value: object) -> object:
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        return round(value, 9) if isinstance(value, float) else value

    return sorted((tuple(cell(row[name]) for name in sorted(row)) for row in rows), key=repr)


def _duck(**tables: pa.Table) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    db.sql("SET TimeZone = 'UTC'")
    for name, table in tables.items():
        db.register(name, table)
    return db
