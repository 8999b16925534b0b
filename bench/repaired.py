"""Repaired: a root with a load of 59 days in one batch, and what its repairs cost."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from bench import dense, oracle, warm
from bench.arms import PIPELINE, Drained, Sluice
from bench.process import Cost, run
from bench.topic import Topic
from local.deliveries import Delivered
from spark_jobs.decode.slices import SliceCounter, SlicePolicy
from spark_jobs.errors import RangeUnsupported
from spark_jobs.launch import submit
from spark_jobs.messages.job import Stage
from spark_jobs.messages.report import Report, read_report
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import Swapped, swap
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import Paths, report_path

LATE = 16
"""Late records of a round: a backfill of a day takes one, a repair the other 15."""
DAY = LATE // 2
"""The late record whose day is backfilled."""
BATCH = 10_000
"""Records of a batch of Arrow's, as Spark gives them to the decoder."""
MOMENT = pa.timestamp("us", "UTC")
WHO = "the bench"
UNRANGED = "tallies"
"""A pipeline of which no range can be computed: a GroupState without event time."""


class Round(NamedTuple):
    """What one round took."""

    full: Drained
    """All records computed anew, in a root of its own."""
    backfill: Cost
    warm: Cost
    """The same backfill once more, by a worker that has done it before."""
    query_seconds: float
    """Of the backfill: in which Spark computes, compares and writes."""
    backfill_share: float
    """Of all records that the backfill read."""
    repair_share: float
    """Of all records that the repair read."""
    leased_seconds: float
    """For which the repair's swap held the lease."""
    clean: Cost
    """Of the repair that finds nothing to do."""
    refused: Cost
    """Of a backfill of a pipeline that has no ranges."""


class Repaired:
    """The root, its topic, and a client's way to compute ranges of it again."""

    def __init__(self, home: Path, topic: Topic, load: list[Delivered], at: Settings) -> None:
        self.home = home
        self.topic = topic
        self._load = load
        self._at = at
        self.arm = Sluice(home / "sluice", topic.brokers, at)
        self.settings = self.arm.settings
        self.spec = registry.load(PIPELINE)
        self.paths = Paths(self.settings.root, self.spec)

    def load(self) -> Drained:
        """The first load: all of it in one batch."""
        self.topic.publish_next()
        loaded = self.arm.drain("load")
        self.hold()
        return loaded

    def late(self, label: str) -> None:
        """Deliver late records, and drain them."""
        self.topic.publish_next()
        self.arm.drain(label)

    def round(self, number: int) -> Round:
        """Late records: a backfill of a day beside a full recomputation, then a repair of the
        others. Who begins changes with the number.
        """
        self.late(f"late-{number}")
        full = self._full(number) if number % 2 else None
        backfill, report = self._backfill(number)
        full = full or self._full(number)
        plan = self.plan(Request(kind="repair", who=WHO))
        repaired = self.stage(plan, f"repair-{number}")
        leased = self.swap(plan).leased_seconds
        self.hold()
        return Round(
            full,
            backfill,
            self._warm(number),
            report.seconds["query"] + report.seconds["compare"],
            self._share(report),
            self._share(repaired),
            leased,
            self._clean(number),
            self._refused(number),
        )

    def plan(self, request: Request) -> RepairPlan:
        plan = plan_repair(self.spec, self.settings, request)
        plan.store(self.paths)
        return plan

    def stage(self, plan: RepairPlan, label: str) -> Report:
        """By a spark-submit, as Airflow does it."""
        path = self.home / f"{label}.json"
        job = Stage(
            pipeline=PIPELINE,
            kind=plan.kind,
            repair_id=plan.repair_id,
            report=str(path),
            run_id=label,
        )
        words = submit.command(self.settings, job, plan.offsets)
        run(words, submit.environment(self.settings), self.home / f"{label}.log", self.home)
        report = read_report(path)
        change = report.change
        if change is None or change.unexplained or change.unaccounted:
            raise oracle.WrongResult(f"{label}: {report.problem or change}")
        return report

    def swap(self, plan: RepairPlan) -> Swapped:
        return swap(self.spec, self.settings.root, plan.repair_id, WHO)

    def hold(self) -> int:
        """Raises WrongResult unless the table is what DuckDB computes from all records."""
        return oracle.hold(self.arm.table, self.topic.ledger, "Sluice")

    def slices_share(self, load: Drained) -> float:
        """Processor seconds of noting and writing the slices of the load, over the drain's."""
        noted = self._note()
        rows = self._slices()
        began = time.process_time()
        ops_tables.replace(self.paths.root / "again", "slices", rows, "true")
        return (noted + time.process_time() - began) / load.process.cpu_seconds

    def slices_kilobytes(self) -> float:
        """Of the files of the load's slices in the ops table, for each million records."""
        folder = Path(str(self.paths.root / "again" / "ops" / "slices"))
        files = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        return files / 1e3 / (len(self._load) / 1e6)

    def _slices(self) -> pa.Table:
        return ops_tables.query(
            self.paths.root, "slices", f"SELECT * FROM slices WHERE pipeline = '{PIPELINE}'"
        )

    def _note(self) -> float:
        """Processor seconds of noting, beside what decoding has made anyway."""
        noted = 0.0
        counter = SliceCounter(self.spec.topic, SlicePolicy.of(len(self._load), None, 0))
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

    def _full(self, number: int) -> Drained:
        """Everything that the topic has, in one batch, in which nothing is late."""
        arm = Sluice(self.home / f"full-{number}", self.topic.brokers, self._at)
        done = arm.drain("full")
        oracle.hold(arm.table, self.topic.ledger, "the full recomputation")
        return done

    def _backfill(self, number: int) -> tuple[Cost, Report]:
        """As a person does it on the command line."""
        cost = self._command(f"backfill-{number}", self._words(number), {})
        folder = Path(str(report_path(self.settings.root, PIPELINE, "any"))).parent
        return cost, read_report(max(folder.glob("*.json"), key=lambda path: path.stat().st_mtime))

    def _warm(self, number: int) -> Cost:
        command = [sys.executable, "-m", "spark_jobs.cli", *self._words(number)]
        given = submit.environment(self.settings._replace(warm="on"))
        warm.begin(command, given, self.home)
        try:
            log = self.home / f"warm-{number}.log"
            return warm.run_warm(self.settings.root, command, given, log, self.home)
        finally:
            warm.end(self.settings.root)

    def _words(self, number: int) -> list[str]:
        """The command that backfills the day."""
        late = dense.late(self._load, LATE, number)[DAY].event
        assert late is not None
        day = late.event_time.replace(hour=0, minute=0, second=0, microsecond=0)
        ends = f"{day:%F}", f"{day + timedelta(days=1):%F}"
        return ["backfill", PIPELINE, "--from", ends[0], "--to", ends[1], "--execute", "--yes"]

    def _clean(self, number: int) -> Cost:
        """A repair that finds nothing to do, where no JVM could be started."""
        label = f"clean-{number}"
        words = ["repair", PIPELINE, "--execute", "--yes"]
        cost = self._command(label, words, self._no_java)
        if "nothing" not in (self.home / f"{label}.log").read_text():
            raise oracle.WrongResult(f"round {number}: something is left to repair")
        return cost

    def _refused(self, number: int) -> Cost:
        """A backfill that is refused, where no JVM could be started."""
        days = "--from", "2013-01-01", "--to", "2013-01-02"
        words = ["backfill", UNRANGED, *days, "--execute", "--yes"]
        expected = RangeUnsupported.exit_status
        return self._command(f"refused-{number}", words, self._no_java, expected)

    @property
    def _no_java(self) -> dict[str, str]:
        return {"JAVA_HOME": str(self.home / "no-java")}

    def _share(self, report: Report) -> float:
        return report.account.read / self.topic.sent

    def _command(
        self, label: str, words: list[str], variables: dict[str, str], expected: int = 0
    ) -> Cost:
        command = [sys.executable, "-m", "spark_jobs.cli", *words]
        given = submit.environment(self.settings) | variables
        log = self.home / f"{label}.log"
        return run(command, given, log, self.home, expected=expected)


def whole() -> Request:
    """A backfill of all 59 days."""
    first = datetime(2013, 1, 1, tzinfo=UTC)
    return Request(kind="backfill", who=WHO, start=first, end=first + timedelta(days=dense.DAYS))
