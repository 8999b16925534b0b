"""`python -m bench`: both arms over the same topic, in turn, each table held against DuckDB before a time counts."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from bench import oracle
from bench.arms import TOPIC, Arm, Baseline, Drained, Sluice, settings
from bench.workload import deliveries
from local import broker
from local.deliveries import Delivered
from local.publish import publish
from spark_jobs.contract.settings import REPO

PARTITIONS = 4
CHECKED = ("audit", "checks")
"""The laps of a report that are account and judgement."""
console = Console(width=130, highlight=False)


class Line(NamedTuple):
    """A row of the result. `ratios` are one a pair; the target is met by their median."""

    work: str
    sluice: str
    baseline: str
    ratios: Sequence[float]
    target: float
    at_least: bool

    @property
    def met(self) -> bool:
        median = statistics.median(self.ratios)
        return median >= self.target if self.at_least else median <= self.target


def bench(
    events: Annotated[int, typer.Option(help="Events of the first delivery.", min=1000)] = 1_000_000,
    later: Annotated[int, typer.Option(help="Deliveries after it, each in a process of its own.", min=1)] = 15,
    size: Annotated[int, typer.Option(help="Events of each of those.", min=100)] = 20_000,
    idle: Annotated[int, typer.Option(help="Runs with nothing new.", min=1)] = 3,
) -> None:
    """Measure Sluice against a plain PySpark script (bench/baseline.py). Example: python -m bench --events 100000 --later 2"""
    with TemporaryDirectory(prefix="sluice-bench-") as folder:
        home = Path(folder)
        try:
            brokers = broker.start(home / "kafka", REPO / "jars" / "kafka")
            lines = _measure(home, brokers, deliveries(events, later, size), idle)
        finally:
            broker.stop(home / "kafka")
    _show(lines)
    path = REPO / ".local" / "bench" / f"{datetime.now(UTC):%Y-%m-%dT%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([line._asdict() for line in lines], indent=2))
    console.print(f"written to {path.relative_to(REPO)}")


def _measure(home: Path, brokers: str, parts: list[Sequence[Delivered]], idle: int) -> list[Line]:
    sluice, baseline = Sluice(home / "sluice", brokers, settings()), Baseline(home / "baseline", brokers, settings())
    pairs = []
    for number, part in enumerate(parts):
        publish(brokers, TOPIC, part, number + 1, home / "ledger", PARTITIONS)
        # In turn, and the other first each time: whatever drifts on the machine meets both alike.
        order: list[Arm] = [sluice, baseline] if number % 2 == 0 else [baseline, sluice]
        took = {arm.name: arm.drain(f"delivery-{number}") for arm in order}
        rows = [oracle.hold(arm.table, home / "ledger", arm.name) for arm in order]
        pair = took["Sluice"], took["baseline"]
        pairs.append(pair)
        console.print(f"delivery {number}: {len(part):,} records, {rows[0]:,} rows in both tables; "
                      f"Sluice {_words(pair[0])}, baseline {_words(pair[1])}")
    nothing = [(sluice.plan(f"idle-{n}"), baseline.nothing(f"idle-{n}")) for n in range(idle)]
    first, rest = pairs[0], pairs[1:]
    report = first[0].report
    assert report is not None  # Sluice's arm always has one
    judging = sum(report.seconds.get(lap, 0) for lap in CHECKED)
    peak = max(pair[0].process.peak_bytes for pair in pairs)
    return [
        _against(f"{len(parts[0]):,} records: query", [first], lambda d: d.query_seconds, 4),
        _against(f"{len(parts[0]):,} records: whole process", [first], lambda d: d.process.seconds, 1),
        _against(f"{len(rest)} x {len(parts[1]):,} records: query", rest, lambda d: d.query_seconds, 8),
        _against(f"{len(rest)} x {len(parts[1]):,} records: whole process", rest, lambda d: d.process.seconds, 2.5),
        Line("nothing new, against an empty spark-submit", _seconds([a.seconds for a, _ in nothing]),
             _seconds([b.seconds for _, b in nothing]), [a.seconds / b.seconds for a, b in nothing], 0.3, at_least=False),
        Line("audit and checks, of the first run", f"{judging:.1f} s", f"{first[0].process.seconds:.1f} s in all",
             [judging / first[0].process.seconds], 0.15, at_least=False),
        Line("peak memory of driver and workers, GB", f"{peak / 1e9:.2f}", "", [peak / 1e9], 4, at_least=False),
    ]


def _against(work: str, pairs: Sequence[tuple[Drained, Drained]], seconds: Callable[[Drained], float], target: float) -> Line:
    ours, theirs = [seconds(a) for a, _ in pairs], [seconds(b) for _, b in pairs]
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Line(work, _seconds(ours), _seconds(theirs), ratios, target, at_least=True)


def _seconds(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} s"


def _words(drained: Drained) -> str:
    return f"{drained.query_seconds:.1f} s ({drained.process.seconds:.1f} s in all)"


def _show(lines: list[Line]) -> None:
    table = Table("work", "Sluice", "baseline", "ratio: median (least to most)", "target", "reached")
    for line in lines:
        spread = f"{statistics.median(line.ratios):.2f} ({min(line.ratios):.2f} to {max(line.ratios):.2f})"
        target = f"{'>=' if line.at_least else '<='} {line.target:g}"
        table.add_row(line.work, line.sluice, line.baseline, spread, target, "yes" if line.met else "[yellow]no[/]")
    console.print(table)


if __name__ == "__main__":
    typer.run(bench)
