"""`python -m bench.short_drains`: whether many short runs on one checkpoint slow the next down.

One Spark session drains small deliveries one after another, and each drain writes, accounts,
checks, reports and purges as a scheduled run does. Prints the last drains' seconds over the
first's, and how many files the state has.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Annotated

import typer
from rich.console import Console

from bench import workload
from bench.arms import PIPELINE, settings
from bench.history import A_WEEK, History
from bench.topic import running
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.launch import submit
from spark_jobs.runs.drain import drain

WITHIN = "SLUICE_BENCH_WITHIN_SPARK"
WARM_UP = 20
"""Drains that are not counted: the JVM compiles meanwhile."""
SAMPLE = 20
console = Console(width=120, highlight=False)


def main(
    drains: Annotated[int, typer.Option(min=WARM_UP + 2 * SAMPLE, help="how many")] = 320,
    size: Annotated[int, typer.Option(min=10, help="flight events of each")] = 200,
    batches: Annotated[
        int, typer.Option(min=0, help="batches of history that the long root gets on top")
    ] = 0,
) -> None:
    """Drain so many deliveries, and compare the last twenty with the twenty after the first ones.

    The machine's speed changes within the minutes that this takes. So a second root reads all that
    the first has read in one drain, and the two take turns on twenty more deliveries: same state
    and same topic, long and short history. With --batches the ops tables of the first one have so
    many more batches, of before a reset: the last week of them in a commit each, the others joined
    by a maintenance.

    Examples:  python -m bench.short_drains   |   python -m bench.short_drains --drains 60
    """
    if WITHIN not in os.environ:
        _start_within_spark()
    home = Path(mkdtemp(prefix="sluice-drains-"))
    try:
        more = WARM_UP + SAMPLE
        with running(home, workload.deliveries(size, drains - 1 + more, size)) as topic:
            long = settings()._replace(root=str(home / "long"), kafka=topic.brokers)
            short = long._replace(root=str(home / "short"))
            seconds = []
            for number in range(drains):
                topic.publish_next()
                seconds.append(_drained(long, f"run-{number}"))
                if (number + 1) % SAMPLE == 0:
                    last = median(seconds[-SAMPLE:])
                    console.print(
                        f"{number + 1} drains: median {last:.2f} s of the last {SAMPLE}, "
                        f"{_state_files(long)} files of state"
                    )
            first, last = median(seconds[WARM_UP : WARM_UP + SAMPLE]), median(seconds[-SAMPLE:])
            console.print(f"the last {SAMPLE} over the first {SAMPLE}: {last / first:.2f}")
            if batches:
                history = History(home / "long")
                history.begin_with(max(0, batches - A_WEEK))
                history.grow(history.batches + min(batches, A_WEEK))
            pairs = []
            for number in range(more):
                topic.publish_next()
                turn = (long, short) if number % 2 else (short, long)
                took = {at.root: _drained(at, f"pair-{number}") for at in turn}
                pairs.append((took[long.root], took[short.root]))
        after, fresh = (median(side) for side in zip(*pairs[WARM_UP:], strict=True))
        console.print(
            f"in turns with a root of {WARM_UP} drains: {after:.2f} s after {drains} drains"
            f"{f' and {batches:,} batches of history' if batches else ''}, "
            f"{fresh:.2f} s there: {after / fresh:.2f}"
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _start_within_spark() -> None:
    """Become the driver of a Spark application, with the class path that runs have."""
    at = settings()
    command = submit.command(at, PIPELINE, Path("none"), "none")
    application = command.index(submit.application())
    os.execvpe(
        command[0],
        [*command[:application], __file__, *sys.argv[1:]],
        os.environ | submit.environment(at) | {WITHIN: "1"},
    )


def _drained(at: Settings, run_id: str) -> float:
    began = time.monotonic()
    report = drain(registry.load(PIPELINE), at, run_id)
    if report.problem:
        raise SystemExit(f"{run_id}: {report.problem.what}")
    return time.monotonic() - began


def _state_files(at: Settings) -> int:
    state = Path(str(Paths(at.root, registry.load(PIPELINE)).checkpoint / "state"))
    return sum(path.is_file() for path in state.rglob("*"))


if __name__ == "__main__":
    typer.run(main)
