"""`python -m bench`: measure Sluice against the frozen rivals, on this machine, in one run.

Starts brokers of its own in a temporary folder and stops them; nothing else should run meanwhile.
Arms take turns; a time counts only if the arm's table is exactly what DuckDB computes from the
ledger.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from bench import (
    formats,
    group_state,
    growth,
    inputs,
    present_rows,
    repairs,
    results,
    workload,
)
from bench.aircraft import announce
from bench.arms import settings
from bench.machine import speed
from bench.measures import Bench
from bench.results import Measure
from bench.topic import running
from spark_jobs.launch import java_options
from spark_jobs.settings.installation import REPO, Settings

console = Console(width=170, highlight=False)
Say = Callable[[str], None]


class Part(StrEnum):
    """What can be measured alone."""

    flights = "flights"
    state = "state"
    repairs = "repairs"
    formats = "formats"
    latest = "latest"
    inputs = "inputs"
    keys = "keys"
    history = "history"


class Sizes(NamedTuple):
    """How much of everything."""

    records: int
    repetitions: int
    later: int
    size: int
    idle: int
    group_state: int
    on_cluster: int
    repaired: int


def main(  # noqa: PLR0913, PLR0917 - one option each
    records: Annotated[
        int,
        typer.Option(
            "--records",
            "--events",
            min=1000,
            help="flight events of the first load, and of group state; duplicates come on top",
        ),
    ] = 1_000_000,
    repetitions: Annotated[
        int, typer.Option(min=1, help="of each row; of the first load each is from nothing")
    ] = 3,
    later: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="deliveries after the load, each drained by a process of its own; 0 leaves them "
            "out, and so it is with the options below. Default: 3 for each repetition, but 1 "
            "where there is one repetition",
            show_default=False,
        ),
    ] = None,
    size: Annotated[int, typer.Option(min=100, help="flight events of each of them")] = 20_000,
    idle: Annotated[int, typer.Option(min=0, help="runs with nothing new")] = 5,
    state: Annotated[
        int | None,
        typer.Option(
            "--group-state",
            min=0,
            help="rounds of Python group state, many keys and few. Default: as many as repetitions",
            show_default=False,
        ),
    ] = None,
    on_cluster: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="loads and deliveries on a standalone cluster. Default: 1, but 0 where there is "
            "one repetition",
            show_default=False,
        ),
    ] = None,
    repaired: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="backfills and repairs of as many events as the load. Default: as many as "
            "repetitions, but 0 where there is one",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[Part] | None,
        typer.Option(
            help="this part alone, or several: flights (loads, deliveries, nothing new, cluster), "
            "state, repairs, formats, latest, inputs (Lookup, Table, Join), keys, history. "
            "Default: all",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option(help="keep the temporary folder with tables and logs")
    ] = False,
) -> None:
    """Measure Sluice against an expert's script, the script of Spark's guide, one Spark batch query
    and DuckDB. Print one table, and write every value to .local/bench/<date>.json, also where the
    run is cut off.

    Seconds are those of the query (by the arm's own clock) and of the whole process. Processor
    seconds are user and system of every process that a run starts, Python workers among them.
    Memory is the largest sum of resident memory. Above 1x, Sluice takes less than the rival; a row
    "at most" is Sluice's over the rival's. Ends with 0, reached or not.

    To try it, some minutes:  python -m bench --records 50000 --repetitions 1

    One part alone:           python -m bench --only state --group-state 2

    All of it, two and a half hours or more:  make bench
    """
    alone = repetitions == 1

    def given(value: int | None, default: int) -> int:
        return default if value is None else value

    sizes = Sizes(
        records,
        repetitions,
        given(later, 1 if alone else 3 * repetitions),
        size,
        idle,
        given(state, repetitions),
        given(on_cluster, 0 if alone else 1),
        given(repaired, 0 if alone else repetitions),
    )
    before = speed()
    began = time.monotonic()
    home = Path(mkdtemp(prefix="sluice-bench-"))
    announce(home / Part.inputs)

    def say(line: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:6.0f} s[/]  {line}")

    say(str(before))
    found: list[Measure] = []
    whole = False
    try:
        for part in measures(home, sizes, set(only or Part), say):
            found += part
        whole = True
    finally:
        if keep:
            say(f"kept {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
        if found:
            behind = speed()
            say(str(behind))
            console.print(results.table(found))
            folder = REPO / ".local" / "bench"
            path = results.write(
                found, folder, sizes._asdict(), whole=whole, speeds=(before, behind)
            )
            say(f"every value: {path}")


def measures(home: Path, sizes: Sizes, parts: set[Part], say: Say) -> Iterator[list[Measure]]:
    """The rows, part by part, as they become known."""
    at = settings()
    if not java_options.archive(at).exists():
        say(
            "no class-data archive (python -m local.archive makes it): Sluice starts as it does "
            "without one"
        )
    if Part.flights in parts:
        yield from _of_flights(home, at, sizes, say)
    if Part.state in parts and sizes.group_state:
        yield group_state.measures(home / "state", at, say, sizes.records, sizes.group_state)
    if Part.repairs in parts and sizes.repaired:
        yield repairs.measures(home / "repairs", at, say, sizes.records, sizes.repaired)
    if Part.formats in parts:
        yield formats.measures(home / "formats", at, say, sizes.records, sizes.repetitions)
    if Part.latest in parts and sizes.later:
        yield present_rows.measures(
            home / "latest", at, say, sizes.records, sizes.later, sizes.size
        )
    if Part.inputs in parts:
        loads, later = (sizes.records, sizes.repetitions), (sizes.later, sizes.size)
        yield from inputs.measures(home / Part.inputs, at, say, loads, later)
    if Part.keys in parts and sizes.later:
        each = max(100, min(sizes.size, sizes.records // 50))
        yield growth.of_keys(home / "keys", at, say, each, sizes.repetitions)
    if Part.history in parts and sizes.later:
        yield growth.of_past(home / "history", at, say, sizes.repetitions)


def _of_flights(home: Path, at: Settings, sizes: Sizes, say: Say) -> Iterator[list[Measure]]:
    """Loads and deliveries of one topic."""
    say(f"making {sizes.records + sizes.later * sizes.size:,} events")
    waiting = workload.deliveries(sizes.records, sizes.later + sizes.on_cluster, sizes.size)
    with running(home, waiting) as topic:
        bench = Bench(home, topic, at, say)
        yield bench.first_load(sizes.repetitions)
        if sizes.later:
            yield bench.deliveries(sizes.later)
        if sizes.idle:
            yield bench.nothing_new(sizes.idle)
        if sizes.on_cluster:
            yield bench.on_cluster(sizes.on_cluster)


if __name__ == "__main__":
    typer.run(main)
