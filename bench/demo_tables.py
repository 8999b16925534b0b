"""Three of the demo's tables: drained in three deliveries, with late records, then repaired. How
many of them are the canonical result, by DuckDB and plain Python over the ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa

from bench.process import run
from bench.results import Measure
from bench.topic import running
from local import ledger
from local.deliveries import deliver, split
from local.flights import flight_events
from local.nycflights import FIRST_DAY
from spark_jobs.launch import submit
from spark_jobs.messages.job import Drain, Stage
from spark_jobs.messages.request import Request
from spark_jobs.registry import find as registry
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import Paths
from tests.harness import oracle

MONTHS, DELIVERIES = 2, 3
"""Of `make demo`."""
ENTERS = {
    "flight_events": "true",
    "departure_delays": "event_type = 'departure'",
    "aircraft_rotations": "event_type = 'departure' and not cancelled and tail_number is not null",
}
"""Pipeline -> which good records move its watermark, in SQL."""
DELAY = timedelta(hours=2)
"""Of the watermark, in each of the three."""


def measures(home: Path, at: Settings, say: Callable[[str], None]) -> list[Measure]:
    """Drain, repair, compare; with a broker of its own."""
    home.mkdir()
    records = deliver(flight_events(FIRST_DAY, MONTHS))
    with running(home, [*split(records, DELIVERIES)]) as topic:
        here = at._replace(root=str(home / "root"), kafka=topic.brokers)
        for number in range(1, DELIVERIES + 1):
            topic.publish_next()
            for name in ENTERS:
                _drain(here, home, name, f"{name}-{number}")
        late = {name: _repair(here, home, name) for name in ENTERS}
        sent = ledger.read(topic.ledger)
    whole = [name for name in ENTERS if _canonical(here, name, sent)]
    say(
        f"{len(records):,} records of the demo: "
        + ", ".join(
            f"{name} {'canonical' if name in whole else 'NOT CANONICAL'} after a repair of "
            f"{count:,} late records"
            for name, count in late.items()
        )
    )
    return [Measure.counted("the demo's tables, repaired: canonical", len(ENTERS), [len(whole)])]


def _drain(here: Settings, home: Path, name: str, label: str) -> None:
    path = home / f"{label}.json"
    command = submit.command(here, Drain(pipeline=name, report=str(path), run_id=label))
    run(command, submit.environment(here), home / f"{label}.log", home)


def _repair(here: Settings, home: Path, name: str) -> int:
    """As Airflow does it; how many late and quarantined records are in the rows then."""
    spec = registry.load(name)
    plan = plan_repair(spec, here, Request(kind="repair", who="the bench"))
    plan.store(Paths(here.root, spec))
    path = home / f"{name}-repair.json"
    job = Stage(
        pipeline=name,
        kind=plan.kind,
        repair_id=plan.repair_id,
        report=str(path),
        run_id=f"{name}-repair",
    )
    words = submit.command(here, job, plan.offsets)
    run(words, submit.environment(here), home / f"{name}-repair.log", home)
    return swap(spec, here.root, plan.repair_id, "the bench").merged


def _canonical(here: Settings, name: str, sent: pa.Table) -> bool:
    """Whether the table is what one computation over all good records gives, none of them late."""
    wanted = oracle.RESULTS[name](oracle.events(sent, set()), _watermark(name, sent))
    table = deltalake.DeltaTable(str(Paths(here.root, registry.load(name)).table))
    found = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    rows = pa.table(found).to_pylist()
    return bool(rows) and oracle.comparable(rows) == oracle.comparable(wanted)


def _watermark(name: str, sent: pa.Table) -> datetime:
    """Of the last batch: the newest record that moves it, less the delay."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("sent", sent)
        [[newest]] = db.execute(
            "SELECT max(event_time) FROM sent WHERE kind IN ('good', 'duplicate') "
            f"AND {ENTERS[name]}"
        ).fetchall()
    at: datetime = newest - DELAY
    return at
