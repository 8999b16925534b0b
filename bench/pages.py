"""`python -m bench.pages`: the milliseconds of the views' pages and JSON routes, through a real
API server of Airflow, over a long history; and those of the calls that Airflow's own page of the
same DAG makes.

Needs no Spark and no Kafka. The history is written as runs and `sluice maintain` leave it: most of
it in one file a table, the newest runs in a small file each.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, NamedTuple

import httpx
import typer
from rich.console import Console
from rich.table import Table

from bench.history import A_WEEK, PIPELINE, History
from local import airflow
from local.airflow_api import Api
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.storage.root.paths import Paths
from tests.unit.checkpoints import begin, commit_batch, plan_batch

LATE = 20_000
GENERATION = "0123456789ab"
"""As in the history."""
RUNS = 10
"""Of the DAG, made by Airflow and waiting: as many as its page shows."""
DAG = f"/api/v2/dags/{PIPELINE}"
NEWEST = f"limit={RUNS}&order_by=-run_after"
AIRFLOWS = (
    DAG,
    f"{DAG}/details",
    f"/ui/grid/structure/{PIPELINE}?include_upstream=false&include_downstream=false&{NEWEST}",
    f"/ui/grid/runs/{PIPELINE}?{NEWEST}",
    f"/ui/backfills?dag_id={PIPELINE}&active=true",
    f"/ui/dags/{PIPELINE}/deadlineAlerts?limit=100",
    f"/api/v2/dagWarnings?dag_id={PIPELINE}",
    f"/api/v2/assets/events?limit=10&order_by=-timestamp&source_dag_id={PIPELINE}",
    f"{DAG}/dagRuns?limit=10&state=failed",
    f"{DAG}/dagRuns?limit=1&state=running&state=queued",
    f"/ui/dags/{PIPELINE}/latest_run",
    f"{DAG}/dagRuns/~/taskInstances?state=failed&order_by=-run_after",
    f"{DAG}/dagRuns/~/hitlDetails?state=awaiting_input&response_received=false",
    f"/ui/structure/structure_data?dag_id={PIPELINE}&external_dependencies=false",
)
"""What the browser asks for when the page of a DAG is opened in Airflow 3.3.2, as far as it is of
the DAG; without the times in some of them. The browser asks for several at once.
"""
OURS = {
    "all pipelines, page": "/sluice/",
    "all pipelines, JSON": "/sluice/api/pipelines",
    "a pipeline, page": f"/sluice/pipelines/{PIPELINE}",
    "its batches, JSON": f"/sluice/api/pipelines/{PIPELINE}/batches?limit=5000",
    "its runs, JSON": f"/sluice/api/pipelines/{PIPELINE}/runs?limit=5000",
    "its seconds, JSON": f"/sluice/api/pipelines/{PIPELINE}/phases?limit=60",
    "its late records, page": f"/sluice/pipelines/{PIPELINE}/rejected?table=late",
    "its late records, JSON": f"/sluice/api/pipelines/{PIPELINE}/late",
    "its coverage, page": f"/sluice/pipelines/{PIPELINE}/coverage",
    "its coverage, JSON": f"/sluice/api/pipelines/{PIPELINE}/coverage",
    "ranges of a repair, JSON": f"/sluice/api/pipelines/{PIPELINE}/repair",
}
NOTHING: Mapping[str, str] = {}
console = Console(width=120, highlight=False)


class Row(NamedTuple):
    """Seconds of one page or route, each time."""

    what: str
    seconds: list[float]
    size: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@contextmanager
def running(
    folder: Path, more: Mapping[str, str] = NOTHING, dags: tuple[str, ...] = (PIPELINE,)
) -> Iterator[httpx.Client]:
    """An Airflow over the folder's root that knows these DAGs, and a client of it that is logged
    in. No DAG runs.
    """
    home = folder / "airflow"
    variables = {"SLUICE_KAFKA": "127.0.0.1:9", "SLUICE_ROOT": str(folder / "root")}
    paused = {"AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True"}
    try:
        if not dags:
            variables["AIRFLOW__CORE__DAGS_FOLDER"] = str(folder / "no-dags")
        made = airflow.start(home, {**variables, **paused, **more}, schedule=False)
        if dags:
            with Api(made) as api:
                api.await_dags({*dags})
                for dag, number in product(dags, range(RUNS)):
                    api.trigger(dag, f"waits-{number}")
        with httpx.Client(base_url=made.url, timeout=60) as client:
            login = {"username": made.user, "password": made.password}
            token = client.post("/auth/token", json=login).raise_for_status().json()
            client.headers["Authorization"] = f"Bearer {token['access_token']}"
            yield client
    finally:
        airflow.stop(home)


def measured(client: httpx.Client, rounds: int) -> list[Row]:
    """Airflow's page first, then ours. All are asked once before, and then take turns."""
    rows = [
        Row(f"Airflow's page of the DAG: {len(AIRFLOWS)} calls", [], 0),
        *(Row(what, [], 0) for what in OURS),
    ]
    asked = [AIRFLOWS, *((path,) for path in OURS.values())]
    sizes = [0] * len(rows)
    for number in range(rounds + 1):
        for place, paths in enumerate(asked):
            began = time.perf_counter()
            answers = [client.get(path).raise_for_status() for path in paths]
            seconds = time.perf_counter() - began
            sizes[place] = sum(len(each.content) for each in answers)
            if number:
                rows[place].seconds.append(seconds)
    return [row._replace(size=size) for row, size in zip(rows, sizes, strict=True)]


def main(
    batches: Annotated[int, typer.Option(min=1, help="batches of the history")] = 5_000,
    small: Annotated[
        int, typer.Option(min=0, help="of them, those since the last `sluice maintain`")
    ] = A_WEEK,
    rounds: Annotated[int, typer.Option(min=3, help="times that each is asked")] = 25,
    keep: Annotated[bool, typer.Option(help="keep the temporary folder")] = False,
) -> None:
    """Write the history, start Airflow, and print the medians and their ratio to Airflow's page.

    Examples:  python -m bench.pages   |   python -m bench.pages --batches 500 --rounds 5
    """
    folder = Path(mkdtemp(prefix="sluice-pages-"))
    try:
        history = History(folder / "root")
        history.begin_with(batches - min(small, batches))
        history.grow(batches)
        _late(history)
        _checkpoint(history)
        with running(folder) as client:
            rows = measured(client, rounds)
    finally:
        if keep:
            console.print(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    console.print(_table(rows, batches))


def _late(history: History) -> None:
    at, own = datetime.now(UTC), {"pipeline": PIPELINE, "generation": GENERATION}
    rows = [
        own
        | {"batch_id": n % history.batches, "run_id": "r", "topic": "flights", "partition": 0}
        | {"offset": n, "kafka_timestamp": at - timedelta(minutes=n), "step": "deduplicate"}
        | {"event_time": at - timedelta(minutes=n + 300), "value": b"?"}
        | {"watermark_missed": at - timedelta(minutes=n + 60)}
        for n in range(LATE)
    ]
    ops_tables.append(history.root, "late", rows)


def _checkpoint(history: History) -> None:
    """Behind the last batch, with an hour of event times in the index for each."""
    spec, last, now = registry.load(PIPELINE), history.batches - 1, datetime.now(UTC)
    paths = Paths(str(history.root), spec)
    paths.ensure_writable()
    topic, watermark = spec.topic.name, now - timedelta(hours=3)
    folder = begin(Path(str(paths.checkpoint)), {0: 0}, topic)
    for batch in (last - 1, last):  # what a batch began at is what the one before ended at
        end, clock = {0: 20_000 * (batch + 1)}, int(watermark.timestamp() * 1000)
        plan_batch(folder, batch, end, clock, topic)
        commit_batch(folder, batch)
    made = fingerprint(spec, version("pyspark"))
    Identity(generation=GENERATION, topic_id="t", fingerprint=made).write(paths.identity)
    Cursor(audited=last, judged=last, judged_table_version=last).write(paths.cursor)
    Published(number=1, table_version=last, batch=last).fix(paths)
    own = {"pipeline": PIPELINE, "generation": GENERATION, "run_id": "r", "partition": 0}
    slices = [
        own
        | {"batch_id": n, "records": 20_000, "late": 0}
        | {"first_offset": 20_000 * n, "last_offset": 20_000 * (n + 1) - 1}
        | {"first_event_time": at - timedelta(hours=2), "last_event_time": at - timedelta(hours=1)}
        for n in range(history.batches)
        if (at := now - timedelta(hours=last - n))
    ]
    ops_tables.append(history.root, "slices", slices)


def _table(rows: list[Row], batches: int) -> Table:
    table = Table(title=f"{batches:,} batches; warm, through the API server, median")
    for name in ("page or route", "ms", "to Airflow's page", "KB"):
        table.add_column(name, justify="left" if name == "page or route" else "right")
    for row in rows:
        ratio = f"{row.median / rows[0].median:.2f}x"
        table.add_row(row.what, f"{row.median * 1000:.0f}", ratio, f"{row.size / 1000:,.0f}")
    return table


if __name__ == "__main__":
    typer.run(main)
