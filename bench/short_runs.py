"""`python -m bench.short_runs`: whether the last of many short drains of one checkpoint takes
longer than the first.

All drains run in this process, on one Spark session: what they can differ by is what the
checkpoint, the table and the ops tables have become.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from bench import workload
from bench.arms import settings
from bench.topic import running
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.ops import ops_tables
from spark_jobs.runs.drain import drain
from tests.harness.session import start, surroundings

PIPELINE = "departure_delays"
COMPARED = 20
WARM_UP = 10
"""Drains before the first that counts: the JVM is still compiling."""


def main(
    runs: Annotated[int, typer.Option(min=60, help="drains that count")] = 300,
    size: Annotated[int, typer.Option(min=10, help="flight events of each")] = 200,
) -> None:
    """Measure, and print the ratio of the last 20 drains to the first 20."""
    home = Path(mkdtemp(prefix="sluice-bench-"))
    try:
        deliveries = workload.deliveries(size, runs + WARM_UP - 1, size)
        with running(home, deliveries) as topic, surroundings(topic.brokers):
            installation = settings()._replace(kafka=topic.brokers, root=str(home / "root"))
            spark = start(installation)
            seconds = []
            for number in track(range(runs + WARM_UP), "draining"):
                topic.publish_next()
                seconds.append(_drained(installation, f"run-{number}"))
            spark.stop()
            _print(seconds[WARM_UP:], installation)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _drained(installation: Settings, run_id: str) -> float:
    began = time.monotonic()
    report = drain(registry.load(PIPELINE), installation, run_id)
    if report.problem is not None or report.account.unaccounted:
        raise SystemExit(f"{run_id}: {report.problem or report.account}")
    return time.monotonic() - began


def _print(seconds: list[float], installation: Settings) -> None:
    paths = Paths(installation.root, registry.load(PIPELINE))
    state = [path for path in (paths.checkpoint / "state").rglob("*") if path.is_file()]
    rows = ops_tables.query(paths.root, "batches", "SELECT count(*) AS n FROM batches")
    first, last = median(seconds[:COMPARED]), median(seconds[-COMPARED:])
    console = Console(highlight=False)
    console.print(
        f"{len(seconds)} drains: median of the first {COMPARED} {first:.2f} s, of the last "
        f"{last:.2f} s: {last / first:.2f}x (goal: at most 1.15x)"
    )
    console.print(
        f"{rows.to_pylist()[0]['n']:,} batches in ops.batches; {len(state):,} files of state, "
        f"{sum(path.stat().st_size for path in state) / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    typer.run(main)
