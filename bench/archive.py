"""`python -m bench.archive`: what the archive of a topic takes: bytes, and seconds of the query.

One first load of the benchmark's workload, in a process as Airflow starts it, from a broker of its
own. The figures count only if the table has every record of the ledger, at its offset.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import deltalake
import pyarrow as pa
import typer
from rich.console import Console

from bench.arms import TOPIC, settings
from bench.process import run
from bench.topic import running
from bench.workload import deliveries
from local import ledger
from spark_jobs.contract.archive import archive_name
from spark_jobs.contract.report import read_report
from spark_jobs.launch import submit

MOST_BYTES, MOST_SECONDS = 40_000_000, 12.0
"""The targets, for a million records."""
console = Console(width=120, highlight=False)


def main(
    events: Annotated[int, typer.Option(help="Events; duplicates come on top.", min=1)] = 1_000_000,
) -> None:
    """Archive a topic once, and print both."""
    os.environ["SLUICE_PIPELINES"] = "bench.pipelines"
    with (
        TemporaryDirectory(prefix="sluice-archive-") as folder,
        running(Path(folder), deliveries(events, 0, 0)) as topic,
    ):
        home = Path(folder)
        records = topic.publish_next()
        own = settings()._replace(root=str(home / "root"), kafka=topic.brokers)
        report_at, name = home / "report.json", archive_name(TOPIC)
        command = submit.command(own, name, report_at, "bench", records)
        cost = run(command, submit.environment(own), home / "log", home)
        report = read_report(report_at)
        table = deltalake.DeltaTable(str(home / "root" / "archive" / TOPIC))
        _require_every_record(table, ledger.read(topic.ledger))
        sizes = pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()
        console.print(f"{records:,} records in {len(sizes)} files")
        _told("bytes", sum(sizes), MOST_BYTES * records / 1e6)
        _told("seconds of the query", report.query_seconds, MOST_SECONDS * records / 1e6)
        console.print(
            f"whole process: {cost.seconds:.1f} s, {cost.cpu_seconds:.1f} processor seconds"
        )


def _require_every_record(table: deltalake.DeltaTable, sent: pa.Table) -> None:
    found = table.to_pyarrow_table(columns=["partition", "offset"])
    places = [
        set(zip(*each.to_pydict().values(), strict=True))
        for each in (found, sent.select(["partition", "offset"]))
    ]
    if found.num_rows != sent.num_rows or places[0] != places[1]:
        message = f"the archive has {found.num_rows:,} rows of {sent.num_rows:,} records"
        raise SystemExit(message)


def _told(what: str, found: float, most: float) -> None:
    reached = "reached" if found <= most else "not reached"
    console.print(f"{what}: {found:,.1f}, at most {most:,.1f}: {reached}")


if __name__ == "__main__":
    typer.run(main)
