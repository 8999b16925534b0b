"""The archive of the repairs' topic: its bytes, the seconds of its query, and a backfill that reads
it alone, since Kafka has nothing left.
"""

from __future__ import annotations

from collections.abc import Callable

import deltalake
import pyarrow as pa

from bench import dense, oracle
from bench.arms import TOPIC
from bench.process import run
from bench.repaired import Repaired, whole
from bench.results import Measure
from local import ledger
from spark_jobs.launch import submit
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import read_report
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.spec.archive import archive_name

MOST_MEGABYTES, MOST_SECONDS = 40.0, 12.0
"""The targets, for a million records."""


def measures(made: Repaired, say: Callable[[str], None]) -> list[Measure]:
    """Late records wait. They are merged by a backfill of all days: staged from Kafka, then from
    the archive with the topic empty, and swapped in.
    """
    made.late("late-archive")
    from_kafka = made.plan(whole())
    read_kafka = made.stage(from_kafka, "whole-kafka")
    megabytes, seconds = _archive(made)
    made.topic.empty()
    from_archive = made.plan(whole())
    if from_archive.parts or not from_archive.archived:
        raise oracle.WrongResult(f"records are to be read from Kafka: {from_archive.parts}")
    read_archive = made.stage(from_archive, "whole-archive")
    rows, equal = _equal(made, from_kafka, from_archive)
    made.swap(from_archive)
    made.hold()
    million = made.topic.sent / 1e6
    say(
        f"archive: {megabytes:.1f} MB, query {seconds:.1f} s; {equal:,} of {rows:,} rows of a "
        "backfill from it are byte-equal with those from Kafka"
    )
    work = f"{dense.DAYS} days backfilled, a change of {rows:,} rows"
    return [
        Measure.limit("the archive", MOST_MEGABYTES * million, [megabytes], "MB"),
        Measure.limit("its query", MOST_SECONDS * million, [seconds]),
        Measure.limit(f"{work}: query, from Kafka", None, [read_kafka.seconds["query"]]),
        Measure.limit(f"{work}: query, from the archive", None, [read_archive.seconds["query"]]),
        Measure.counted(
            "of them rows that are byte-equal with those from Kafka, whose topic is empty now",
            rows,
            [equal],
        ),
    ]


def _archive(made: Repaired) -> tuple[float, float]:
    """Archive the topic in a process, as Airflow does: megabytes, and seconds of the query."""
    report_at, name = made.home / "archive.json", archive_name(TOPIC)
    job = Drain(pipeline=name, report=str(report_at), run_id="bench")
    command = submit.command(made.settings, job, made.topic.sent)
    variables = submit.environment(made.settings)
    run(command, variables, made.home / "archive.log", made.home)
    table = deltalake.DeltaTable(str(made.paths.root / "archive" / TOPIC))
    _hold_every_record(table, ledger.read(made.topic.ledger))
    sizes = pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()
    return sum(sizes) / 1e6, read_report(report_at).query_seconds


def _hold_every_record(table: deltalake.DeltaTable, sent: pa.Table) -> None:
    found = table.to_pyarrow_table(columns=["partition", "offset"])
    places = [
        set(zip(*each.to_pydict().values(), strict=True))
        for each in (found, sent.select(["partition", "offset"]))
    ]
    if found.num_rows != sent.num_rows or places[0] != places[1]:
        message = f"the archive has {found.num_rows:,} rows of {sent.num_rows:,} records"
        raise oracle.WrongResult(message)


def _equal(made: Repaired, one: RepairPlan, other: RepairPlan) -> tuple[int, int]:
    """How many rows the one stages, and how many of them the other stages too, to the last bit."""
    staged = [set(_staged(made, plan)) for plan in (one, other)]
    return max(map(len, staged)), len(staged[0] & staged[1])


def _staged(made: Repaired, plan: RepairPlan) -> list[str]:
    """The rows as text, which tells two doubles apart if they differ in a bit."""
    table = deltalake.DeltaTable(str(made.paths.staging(plan.repair_id) / "rows"))
    rows = [repr(sorted(row.items())) for row in table.to_pyarrow_table().to_pylist()]
    if not rows or len(set(rows)) != len(rows):
        raise oracle.WrongResult(f"{plan.repair_id} stages {len(rows)} rows, some of them twice")
    return rows
