"""`python -m bench.repairs`: what a backfill of a day and a repair of late records cost, against a
first load of the same records.

The load is one batch of 59 days. Each round delivers 15 records that are late, in 15 hours of as
many days; one day is backfilled as a person does it, and a repair merges the other 14. A time
counts only if the table is then what DuckDB computes from all records.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console

from bench import dense, oracle, results
from bench.arms import PIPELINE, Drained, Sluice, settings
from bench.process import Cost, run
from bench.results import Measure
from bench.topic import Topic, running
from local.deliveries import Delivered
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths, report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.request import Request
from spark_jobs.contract.settings import REPO, Settings
from spark_jobs.decode.slice_counter import SliceCounter
from spark_jobs.decode.slices import SlicePolicy
from spark_jobs.launch import submit
from spark_jobs.ops import ops_tables
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap

Say = Callable[[str], None]
LATE = 15
FULL = "the load"
MOMENT = pa.timestamp("us", "UTC")
DAY = LATE // 2
"""The late record whose day is backfilled."""
BATCH = 10_000
"""Records of a batch of Arrow's, as Spark gives them to the decoder."""
console = Console(width=150, highlight=False)


class Repaired:
    """One root with a load of a million records, and what its repairs cost."""

    def __init__(self, home: Path, topic: Topic, load: list[Delivered], at: Settings) -> None:
        self._home = home
        self._topic = topic
        self._load = load
        self._arm = Sluice(home / "sluice", topic.brokers, at)
        self._settings = self._arm.settings
        self._root = Paths(self._settings.root, registry.load(PIPELINE)).root
        self.full: Drained
        """The load: all records computed."""
        self.backfills: list[tuple[Cost, Report, float]] = []
        """The process, its report, and the share of all records that was read."""
        self.shares: list[float] = []
        """Of the repairs."""
        self.leased: list[float] = []
        """Seconds for which a repair's swap held the lease."""
        self.clean: list[float] = []
        """Seconds of the process that finds nothing to repair."""

    def first(self) -> None:
        self._topic.publish_next()
        self.full = self._arm.drain("load")
        self.hold()

    def round(self, number: int) -> None:
        """Late records: a backfill of a day, and a repair of the others."""
        self._topic.publish_next()
        self._arm.drain(f"late-{number}")
        self._backfill(number)
        self._repair(number)
        self.hold()
        done = self._command(f"clean-{number}", "repair", PIPELINE)
        if "nothing" not in (self._home / f"clean-{number}.log").read_text():
            raise SystemExit(f"round {number}: something is left to repair")
        self.clean.append(done.seconds)

    def hold(self) -> int:
        """Raises WrongResult."""
        return oracle.hold(self._arm.table, self._topic.ledger, "Sluice")

    def slices_share(self) -> float:
        """Processor seconds of noting and writing the slices of the load, over the drain's."""
        noted = self._note()
        rows = ops_tables.query(self._root, "slices", "SELECT * FROM slices")
        began = time.process_time()
        ops_tables.replace(self._root / "again", "slices", rows, "true")
        return (noted + time.process_time() - began) / self.full.process.cpu_seconds

    def _note(self) -> float:
        """Processor seconds of noting, beside what decoding has made anyway."""
        noted = 0.0
        spec = registry.load(PIPELINE)
        policy = SlicePolicy.of(len(self._load), None, 0)
        counter = SliceCounter(spec.topic, policy)
        for first in range(0, len(self._load), BATCH):
            some = self._load[first : first + BATCH]
            times = pa.array([each.event and each.event.event_time for each in some], MOMENT)
            stamps = pa.array([each.kafka_timestamp for each in some], MOMENT)
            offsets = pa.array(range(first, first + len(some)), pa.int64())
            partitions = pa.array([0] * len(some), pa.int32())
            names = ["partition", "offset", "timestamp"]
            kafka = pa.StructArray.from_arrays([partitions, offsets, stamps], names)
            began = time.process_time()
            counter.add(kafka, times)
            noted += time.process_time() - began
        return noted

    def _backfill(self, number: int) -> None:
        times = [each.event.event_time for each in self._late(number) if each.event]
        day = times[DAY].replace(hour=0, minute=0, second=0, microsecond=0)
        ends = f"{day:%F}", f"{day + timedelta(days=1):%F}"
        words = ["backfill", PIPELINE, "--from", ends[0], "--to", ends[1], "--execute", "--yes"]
        cost = self._command(f"backfill-{number}", *words)
        folder = Path(str(report_path(self._settings.root, PIPELINE, "any"))).parent
        newest = max(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        report = read_report(newest)
        self.backfills.append((cost, report, self._share(report.account.read)))

    def _repair(self, number: int) -> None:
        spec = registry.load(PIPELINE)
        plan = plan_repair(spec, self._settings, Request(kind="repair", who="the bench"))
        plan.store(Paths(self._settings.root, spec))
        path = self._home / f"repair-{number}.json"
        words = submit.stage_command(
            self._settings, PIPELINE, plan.repair_id, path, f"repair-{number}", plan.offsets
        )
        variables = submit.environment(self._settings)
        run(words, variables, self._home / f"repair-{number}.log", self._home)
        self.shares.append(self._share(read_report(path).account.read))
        done = swap(spec, self._settings.root, plan.repair_id, "the bench")
        self.leased.append(done.leased_seconds)

    def _share(self, read: int) -> float:
        return read / self._topic.sent

    def _late(self, number: int) -> list[Delivered]:
        return dense.late(self._load, LATE, number)

    def _command(self, label: str, *words: str) -> Cost:
        command = [sys.executable, "-m", "spark_jobs.cli", *words]
        variables = submit.environment(self._settings)
        return run(command, variables, self._home / f"{label}.log", self._home)


def measures(home: Path, at: Settings, say: Say, events: int, rounds: int) -> list[Measure]:
    """So many rounds over a load of about so many events, with a broker of its own."""
    home.mkdir()
    load = dense.load(events)
    waiting = [load, *(dense.late(load, LATE, number) for number in range(1, rounds + 1))]
    with running(home, waiting) as topic:
        made = Repaired(home, topic, load, at)
        made.first()
        full = made.full
        say(
            f"{len(load):,} records of 59 days: query {full.query_seconds:.1f} s, process "
            f"{full.process.seconds:.1f} s"
        )
        for number in range(1, rounds + 1):
            made.round(number)
            cost, report, share = made.backfills[-1]
            say(
                f"round {number}: a day read {share:.2%}, process {cost.seconds:.1f} s, query "
                f"{_query(report):.1f} s; {LATE - 1} late records read {made.shares[-1]:.2%}, "
                f"swap {made.leased[-1]:.3f} s; nothing to do {made.clean[-1]:.2f} s"
            )
        slices = made.slices_share()
    queries = [_query(report) for _, report, _ in made.backfills]
    processes = [cost.seconds for cost, _, _ in made.backfills]
    processors = [cost.cpu_seconds for cost, _, _ in made.backfills]
    work = f"a day of 59 of {len(load):,} records, backfilled"
    again = [full.process.cpu_seconds] * rounds
    return [
        Measure.share(f"{work}: records read", 0.04, [share for *_, share in made.backfills]),
        Measure.limit(f"{work}: the whole process", 16, processes),
        Measure.fraction(f"{work}: query seconds", FULL, 0.15, queries, _same(full, rounds)),
        Measure.less(f"{work}: processor seconds", FULL, None, processors, again),
        Measure.share(f"{LATE - 1} late records repaired: records read", 0.06, made.shares),
        Measure.limit("their swap: the lease", 0.5, made.leased),
        Measure.limit("a repair that finds nothing to do", 1, made.clean),
        Measure.share("slices noted and written, of the load's processor seconds", 0.01, [slices]),
    ]


def _query(report: Report) -> float:
    """Seconds in which Spark computes, compares and writes."""
    return report.seconds["query"] + report.seconds["compare"]


def _same(full: Drained, rounds: int) -> list[float]:
    return [full.query_seconds] * rounds


def main(
    events: Annotated[int, typer.Option(min=1000, help="events of the load")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="backfills and repairs")] = 3,
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
        shutil.rmtree(home, ignore_errors=True)
    console.print(results.table(found))
    parameters = {"events": events, "repaired": rounds}
    say(f"every value: {results.write(found, REPO / '.local' / 'bench', parameters)}")


if __name__ == "__main__":
    typer.run(main)
