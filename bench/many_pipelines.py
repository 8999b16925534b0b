"""`python -m bench.many_pipelines`: the milliseconds of the overview of many pipelines, through a
real API server of Airflow: cold, with nothing new, and each time behind one more run.

Needs no Spark and no Kafka. The pipelines are those of a package of its own, hourly, each with its
checkpoint and its runs; Airflow knows no DAG of theirs. Processor seconds are the API server's.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any, Final, NamedTuple

import httpx
import psutil  # type: ignore[import-untyped, unused-ignore]
import typer
from rich.console import Console
from rich.table import Table
from upath import UPath

from bench.pages import running
from local.airflow_settings import MARK
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.messages.offset_account import OF_BATCHES, Account
from spark_jobs.messages.report import CheckResult, Report, StateUse
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.runs.run_record import row_of
from spark_jobs.storage.root.paths import Paths

PACKAGE: Final = "many_pipelines_of_bench"
SPEC: Final = """\
from spark_jobs.pipelines.flight_events.spec import SPEC as OF

SPEC = OF.model_copy(update={{"name": {name!r}}})
"""
ROUTES: Final = {"all pipelines, page": "/sluice/", "all pipelines, JSON": "/sluice/api/pipelines"}
CHECKS: Final = 12
HOUR: Final = timedelta(hours=1)
console = Console(width=120, highlight=False)


class Many:
    """The package and the root."""

    def __init__(self, folder: Path, pipelines: int) -> None:
        self.root = UPath(folder / "root")
        (folder / "root").mkdir()
        self.names = [f"pipeline_{number:04}" for number in range(pipelines)]
        for name in self.names:
            own = folder / PACKAGE / name
            own.mkdir(parents=True)
            (own / "spec.py").write_text(SPEC.format(name=name))
        for made in (folder / PACKAGE, *(folder / PACKAGE).iterdir()):
            (made / "__init__.py").touch()
        os.environ["SLUICE_PIPELINES"] = PACKAGE
        sys.path.insert(0, str(folder))
        self.runs = 0

    def begin_with(self, runs: int) -> None:
        """So many runs of all together, an hour between two, as `sluice maintain` leaves their
        rows; each pipeline's last one is published.
        """
        each = runs // len(self.names)
        rows: dict[str, list[Any]] = {"runs": [], "batches": [], "checks": [], "late": []}
        for name in self.names:
            self._checkpoint(name, each)
            for number in range(each):
                for table, some in self._of_a_run(name, number, each).items():
                    rows[table] += some
        for table, all_of_it in rows.items():
            ops_tables.append(self.root, table, all_of_it)
        self.runs = each

    def run_once_more(self, name: str) -> None:
        """What a drain of one of them appends."""
        for table, rows in self._of_a_run(name, self.runs, self.runs).items():
            if rows:
                ops_tables.append(self.root, table, rows)
        self.runs += 1

    def _of_a_run(self, name: str, number: int, of: int) -> dict[str, list[Any]]:
        at = datetime.now(UTC) - HOUR * (of - number)
        checks = tuple(
            CheckResult(
                suite="state", type="expect_column_values_to_be_between", column=f"metric_{each}",
                severity="warning", outcome="passed", observed="0",
            )
            for each in range(CHECKS)
        )  # fmt: skip
        account = Account(covered=20_000, read=20_000, accepted=19_900, late=100, rows_out=6_500)
        report = Report(
            pipeline=name, run_id=f"scheduled__{at:%FT%T}+00:00-try1", status="succeeded",
            started_at=at, ended_at=at + timedelta(seconds=30), generation="g1", batches=(number,),
            watermark=at - 2 * HOUR, table_version=number, account=account, checks=checks,
            state=StateUse(rows=100_000),
        )  # fmt: skip
        own = {"pipeline": name, "run_id": report.run_id}
        batch = own | account.model_dump(include={*OF_BATCHES})
        batch |= {"generation": "g1", "batch_id": number}
        batch |= {"audited_at": at, "table_version": number, "state_rows": 100_000}
        late = own | {"generation": "g1", "batch_id": number, "partition": 0, "offset": number}
        return {
            "runs": [row_of(report)],
            "batches": [batch],
            "checks": [own | {"checked_at": at} | each.model_dump() for each in checks],
            "late": [late | {"kafka_timestamp": at, "value": b"?"}] * (number % 10 == 0),
        }

    def _checkpoint(self, name: str, runs: int) -> None:
        spec = registry.load(name)
        paths = Paths(str(self.root), spec)
        paths.ensure_writable()
        made = fingerprint(spec, version("pyspark"))
        Identity(generation="g1", topic_id="t", fingerprint=made).write(paths.identity)
        for number in range(1, runs + 1):
            Published(number=number, generation="g1", table_version=number - 1).fix(paths)


class Row(NamedTuple):
    """Of one route: seconds until its answer, and of the API server's processor, each time."""

    what: str
    seconds: list[float]
    processor: list[float]
    size: int


def measured(client: httpx.Client, home: Path, many: Many, rounds: int) -> list[Row]:
    """The first answer of a server that has just begun; with nothing new; behind one more run."""
    found: list[Row] = []
    server, names = _server(home), many.names * rounds
    for what, path in ROUTES.items():
        cold = _asked(client, server, path, 1, lambda _: None)
        same = _asked(client, server, path, rounds, lambda _: None)
        more = _asked(client, server, path, rounds, lambda n: many.run_once_more(names[n]))
        first = "first of the server" if not found else "first of this route"
        for when, row in ((first, cold), ("nothing new", same), ("one more run", more)):
            found.append(Row(f"{what}: {when}", *row))
    return found


def _asked(
    client: httpx.Client, server: list[Any], path: str, rounds: int, before: Callable[[int], None]
) -> tuple[list[float], list[float], int]:
    seconds, processor, size = [], [], 0
    for number in range(rounds):
        before(number)
        used, began = _used(server), time.perf_counter()
        size = len(client.get(path).raise_for_status().content)
        seconds.append(time.perf_counter() - began)
        processor.append(_used(server) - used)
    return seconds, processor, size


def _used(server: list[Any]) -> float:  # Any: psutil has no types
    """Processor seconds so far."""
    return float(sum(sum(process.cpu_times()[:2]) for process in server))


def _server(home: Path) -> list[Any]:
    """The processes of this Airflow's API server."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            own = process.environ().get(MARK) == str(home.resolve())
            if own and re.search("api.server", " ".join(process.cmdline())):
                found.append(process)
    return found


def main(
    pipelines: Annotated[int, typer.Option(min=1, help="how many")] = 200,
    runs: Annotated[int, typer.Option(min=1, help="of all of them together")] = 5_000,
    rounds: Annotated[int, typer.Option(min=1, help="times that each is asked")] = 15,
) -> None:
    """Write the root, start Airflow, and print medians.

    Examples:  python -m bench.many_pipelines   |   python -m bench.many_pipelines --runs 1000
    """
    folder = Path(mkdtemp(prefix="sluice-many-"))
    try:
        many = Many(folder, pipelines)
        many.begin_with(runs)
        variables = {"SLUICE_PIPELINES": PACKAGE, "PYTHONPATH": os.pathsep.join(sys.path)}
        with running(folder, variables, ()) as client:
            rows = measured(client, folder / "airflow", many, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    title = f"{pipelines:,} pipelines, {runs:,} runs; through the API server, median"
    table = Table(title=title)
    for name in ("page or route", "ms", "most", "processor ms", "KB"):
        table.add_column(name, justify="left" if name == "page or route" else "right")
    for row in rows:
        of = statistics.median(row.seconds), max(row.seconds), statistics.median(row.processor)
        figures = [f"{each * 1000:,.0f}" for each in of]
        table.add_row(row.what, *figures, f"{row.size / 1000:,.0f}")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
