"""`python -m bench`: measure Sluice against the frozen baseline, on this machine, in one run.

Starts a broker of its own in a temporary folder and stops it; nothing else should run meanwhile.
Arms take turns; a time counts only if the arm's table is exactly what DuckDB computes from the
ledger.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer
from rich.console import Console

from bench import repairs, results, workload
from bench.arms import settings
from bench.measures import Bench
from bench.topic import running
from spark_jobs.contract.settings import REPO
from spark_jobs.launch import submit

console = Console(width=150, highlight=False)


def main(
    events: Annotated[
        int, typer.Option(min=1000, help="flight events of the first load; duplicates come on top")
    ] = 1_000_000,
    later: Annotated[
        int, typer.Option(min=1, help="deliveries after it, each drained by a process of its own")
    ] = 15,
    size: Annotated[int, typer.Option(min=100, help="flight events of each of them")] = 20_000,
    repetitions: Annotated[
        int, typer.Option(min=1, help="of the first load, each from nothing")
    ] = 3,
    idle: Annotated[int, typer.Option(min=1, help="runs with nothing new")] = 5,
    on_cluster: Annotated[
        int,
        typer.Option(min=0, help="loads and deliveries on a standalone cluster; 0 leaves it out"),
    ] = 1,
    repaired: Annotated[
        int, typer.Option(min=0, help="backfills and repairs of as many events; 0: none")
    ] = 3,
    keep: Annotated[
        bool, typer.Option(help="keep the temporary folder with tables and logs")
    ] = False,
) -> None:
    """Measure, print the table, and write every value to .local/bench/<date>.json.

    Ends with 0, reached or not.

    Examples:  python -m bench   |   python -m bench --events 100000 --later 2 --repetitions 1
    """
    began = time.monotonic()
    home = Path(mkdtemp(prefix="sluice-bench-"))

    def say(line: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:6.0f} s[/]  {line}")

    installation = settings()
    if not submit.archive(installation).exists():
        say(
            "no class-data archive (python -m local.archive makes it): Sluice starts as it does "
            "without one"
        )
    try:
        say(f"making {events + later * size:,} events")
        with running(home, workload.deliveries(events, later + on_cluster, size)) as topic:
            bench = Bench(home, topic, installation, say)
            measures = [
                *bench.first_load(repetitions),
                *bench.deliveries(later),
                *bench.nothing_new(idle),
            ]
            measures += bench.on_cluster(on_cluster) if on_cluster else []
        if repaired:
            measures += repairs.measures(home / "repairs", installation, say, events, repaired)
    finally:
        if keep:
            say(f"kept {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    parameters = {
        "events": events,
        "later": later,
        "size": size,
        "repetitions": repetitions,
        "idle": idle,
        "on_cluster": on_cluster,
        "repaired": repaired,
    }
    console.print(results.table(measures))
    say(f"every value: {results.write(measures, REPO / '.local' / 'bench', parameters)}")


if __name__ == "__main__":
    typer.run(main)
