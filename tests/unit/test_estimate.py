"""How long a plan says that it takes, by runs in real ops tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contract.kind import Kind
from spark_jobs.contract.report import Account, Report
from spark_jobs.contract.request import Request
from spark_jobs.contract.store import opened
from spark_jobs.ops import ops_tables
from spark_jobs.repair.estimate import time_line
from spark_jobs.repair.planner import plan_repair
from spark_jobs.runs.run_record import append_row
from spark_jobs.source.port import SourceState
from tests.harness.sources import says
from tests.unit.checkpoints import plan_batch
from tests.unit.repaired import DAY, SPEC, Root

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ran(
    root: Path,
    read: int,
    start: float,
    rest: float,
    kind: Kind = "repair",
    at: int = 0,
    pipeline: str = "sales",
    **changes: object,
) -> None:
    """A run that took `start` seconds until Spark was ready, and `rest` from then on."""
    began = NOON + timedelta(minutes=at)
    report = Report(
        kind=kind,
        pipeline=pipeline,
        run_id=f"{kind}-{at}-{read}",
        status="succeeded",
        started_at=began,
        ended_at=began + timedelta(seconds=start + rest),
        query_seconds=rest / 2,
        seconds={"settle": start / 4, "start": start * 3 / 4, "query": rest / 2, "checks": 1},
        account=Account(covered=read, read=read),
    )
    append_row(report.model_copy(update=changes), str(root))


def said(root: Path, records: int) -> str:
    return time_line(opened(str(root)), "sales", records)


def test_without_a_run_nobody_can_tell(tmp_path: Path) -> None:
    assert said(tmp_path, 1_000) == "  about           no run yet to tell by how long it takes"


def test_it_is_the_median_start_and_the_records_at_the_median_rate(tmp_path: Path) -> None:
    for at, (read, start, rest) in enumerate(((1000, 9, 2), (1000, 10, 4), (2000, 30, 2))):
        ran(tmp_path, read, start, rest, at=at)
    # 10 s, and 1,500 records at 500 a second.
    assert said(tmp_path, 1_500) == (
        "  about           13 seconds, 10 s of it start-up (by 3 earlier repairs of this pipeline)"
    )
    assert "8 minutes, 10 s of it start-up" in said(tmp_path, 240_000)


def test_of_many_more_records_than_any_run_had_it_is_a_bound(tmp_path: Path) -> None:
    ran(tmp_path, 1000, 5, 10)
    assert "at most" not in said(tmp_path, 10_000)
    assert said(tmp_path, 10_001).startswith("  about           at most ")


@pytest.mark.parametrize("kind", ["repair", "backfill", "verify", "replay"])
def test_every_kind_of_repair_counts(tmp_path: Path, kind: Kind) -> None:
    ran(tmp_path, 1000, 5, 10, kind)
    assert "15 seconds, 5 s of it start-up (by 1 earlier repair of this pipeline)" in said(
        tmp_path, 1_000
    )


def test_it_goes_by_drains_where_nothing_was_computed_again_yet(tmp_path: Path) -> None:
    ran(tmp_path, 50_000, 10, 5, "drain")
    assert said(tmp_path, 10_000) == (
        "  about           11 seconds, 10 s of it start-up (by 1 drain of this pipeline; it has no "
        "repair yet)"
    )
    ran(tmp_path, 10_000, 10, 10, at=1)
    assert "20 seconds, 10 s of it start-up (by 1 earlier repair" in said(tmp_path, 10_000)


def test_those_count_that_read_about_as_many_and_no_older_ones(tmp_path: Path) -> None:
    """Of few records each takes longer: by small repairs, a large one would take hours."""
    for at in range(5):
        ran(tmp_path, 1_000_000, 10, 40, at=at)
    for at in range(5, 12):
        ran(tmp_path, 10, 10, 8, at=at)
    assert "50 seconds" in said(tmp_path, 1_000_000)
    assert "18 seconds" in said(tmp_path, 10)


def test_runs_that_computed_nothing_and_those_of_other_pipelines_do_not_count(
    tmp_path: Path,
) -> None:
    ran(tmp_path, 1000, 5, 10, pipeline="other")
    ran(tmp_path, 1000, 5, 10, query_seconds=0.0)
    ran(tmp_path, 0, 5, 10)
    ran(tmp_path, 1000, 5, 10, seconds={})
    ran(tmp_path, 1000, 5, 10, "rebuild")
    assert "no run yet" in said(tmp_path, 1_000)


def test_a_repair_whose_check_failed_took_its_time_too(tmp_path: Path) -> None:
    ran(tmp_path, 1000, 5, 10, status="failed")
    assert "by 1 earlier repair " in said(tmp_path, 1_000)


def test_a_plan_of_a_late_record_says_it_and_one_with_nothing_to_do_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Root(tmp_path)
    root.drain(0, 9)
    # no offset of these has a slice
    says(monkeypatch, SourceState("topic-1", {0: 0}, {0: 10}), records=1)
    closed = DAY + timedelta(hours=6)
    plan_batch(root.folder, 9, {0: 10}, int(closed.timestamp() * 1000), topic="sales")
    asked = Request(kind="repair", who="test")
    idle = plan_repair(SPEC, root.settings, asked)
    assert idle.idle
    assert not any("about" in line for line in idle.lines)
    late = {"pipeline": SPEC.name, "generation": "g1", "batch_id": 9, "run_id": "r"}
    late |= {"step": "deduplicate", "partition": 0, "offset": 3, "watermark_missed": closed}
    late |= {"event_time": DAY + timedelta(hours=1.5)}
    ops_tables.append(root.paths.root, "late", [late])
    plan = plan_repair(SPEC, root.settings, asked)
    assert plan.lines[-1] == "  about           no run yet to tell by how long it takes"
    ran(tmp_path, plan.records_read, 9, 2, pipeline=SPEC.name)
    assert plan_repair(SPEC, root.settings, asked).lines[-1] == (
        "  about           11 seconds, 9 s of it start-up (by 1 earlier repair of this pipeline)"
    )
    for torn in (root.paths.root / "ops" / "runs" / "_delta_log").iterdir():
        torn.write_text("{")
    left = plan_repair(SPEC, root.settings, asked)
    assert left.spans == plan.spans, "a plan does not fail for a line"
    assert not any("about" in line for line in left.lines)
