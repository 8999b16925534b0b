"""`python -m bench.repairs`: what a backfill of a day and a repair of late records cost, against a
full recomputation of the same records; what an archive costs; and whether the demo's tables are
canonical after a repair.

The load is one batch of 59 days. Each round delivers 16 records that are late, in 16 hours of as
many days; one day is backfilled as a person does it, and a repair merges the other 15. A time
counts only if the table is then what DuckDB computes from all records.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer
from rich.console import Console

from bench import archive, demo_tables, dense, results
from bench.arms import settings
from bench.own_pipelines import PACKAGE, own_pipelines
from bench.repaired import LATE, Repaired, Round
from bench.results import Measure
from bench.rounds import MOST_GIGABYTES, gigabytes
from bench.topic import running
from spark_jobs.settings.installation import REPO, Settings

Say = Callable[[str], None]
FULL = "full recomputation"
console = Console(width=150, highlight=False)


def measures(home: Path, at: Settings, say: Say, events: int, rounds: int) -> list[Measure]:
    """So many rounds over a load of about so many events, with a broker of its own; then its
    archive, and the demo's tables.
    """
    home.mkdir()
    load = dense.load(events)
    late = [dense.late(load, LATE, number) for number in range(1, rounds + 2)]
    with own_pipelines(), running(home, [load, *late]) as topic:
        made = Repaired(home, topic, load, at._replace(pipelines=PACKAGE))
        loaded = made.load()
        say(
            f"{len(load):,} records of {dense.DAYS} days: query {loaded.query_seconds:.1f} s, "
            f"process {loaded.process.seconds:.1f} s"
        )
        done = []
        for number in range(1, rounds + 1):
            done.append(made.round(number))
            say(f"round {number}: {_line(done[-1])}")
        share = made.slices_share(loaded)
        kilobytes = made.slices_kilobytes()
        say(f"slices: {share:.2%} of the load's processor seconds, {kilobytes:.0f} KB a million")
        found = [
            *_of(done, f"a day of {dense.DAYS} of {len(load):,} records, backfilled"),
            Measure.share(
                "slices noted and written, of the load's processor seconds", 0.01, [share]
            ),
            Measure.limit("slices of a million records", 200, [kilobytes], "KB"),
            *archive.measures(made, say),
        ]
    return [*demo_tables.measures(home / "demo", at, say), *found]


def _of(done: list[Round], work: str) -> list[Measure]:
    full = [each.full for each in done]
    return [
        Measure.share(f"{work}: records read", 0.04, [each.backfill_share for each in done]),
        Measure.limit(f"{work}: the whole process", 12, [each.backfill.seconds for each in done]),
        Measure.limit(f"{work}: the same, warm", 5, [each.warm.seconds for each in done]),
        Measure.fraction(
            f"{work}: query seconds",
            FULL,
            0.15,
            [each.query_seconds for each in done],
            [each.query_seconds for each in full],
        ),
        Measure.less(
            f"{work}: processor seconds",
            FULL,
            None,
            [each.backfill.cpu_seconds for each in done],
            [each.process.cpu_seconds for each in full],
        ),
        Measure.memory(
            f"{work}: memory, GB at most",
            FULL,
            MOST_GIGABYTES,
            [each.backfill.peak_bytes / 2**30 for each in done],
            [gigabytes(each) for each in full],
        ),
        Measure.share(
            f"{LATE - 1} late records repaired: records read",
            0.06,
            [each.repair_share for each in done],
        ),
        Measure.limit("their swap: the lease", 0.5, [each.leased_seconds for each in done]),
        Measure.limit(
            "a repair that finds nothing to do, without a JVM",
            1,
            [each.clean.seconds for each in done],
        ),
        Measure.limit(
            "a backfill that is refused, without a JVM",
            1,
            [each.refused.seconds for each in done],
        ),
    ]


def _line(done: Round) -> str:
    return (
        f"a day read {done.backfill_share:.2%}, process {done.backfill.seconds:.1f} s, warm "
        f"{done.warm.seconds:.1f} s, query "
        f"{done.query_seconds:.1f} s against {done.full.query_seconds:.1f} s of all records; "
        f"{LATE - 1} late records read {done.repair_share:.2%}, swap {done.leased_seconds:.3f} s; "
        f"nothing to do {done.clean.seconds:.2f} s, refused {done.refused.seconds:.2f} s"
    )


def main(
    events: Annotated[int, typer.Option(min=1000, help="events of the load")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="backfills and repairs")] = 3,
    keep: Annotated[
        bool, typer.Option(help="keep the temporary folder with tables and logs")
    ] = False,
) -> None:
    """Measure, print the table, and write every value to .local/bench/<date>.json.

    Examples:  python -m bench.repairs   |   python -m bench.repairs --events 100000 --rounds 1
    """
    began = time.monotonic()
    home = Path(mkdtemp(prefix="sluice-repairs-"))

    def say(line: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:6.0f} s[/]  {line}")

    try:
        found = measures(home / "repairs", settings(), say, events, rounds)
    finally:
        if keep:
            say(f"kept {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    console.print(results.table(found))
    parameters = {"events": events, "repaired": rounds}
    say(f"every value: {results.write(found, REPO / '.local' / 'bench', parameters)}")


if __name__ == "__main__":
    typer.run(main)
