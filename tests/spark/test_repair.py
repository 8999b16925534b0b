"""Repairs: late records are merged, ranges computed again, and the table is DuckDB's."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.compute as pc
import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import StagingStale
from spark_jobs.messages.report import Report
from spark_jobs.messages.request import Request
from spark_jobs.messages.stages import account_line, summary
from spark_jobs.ops import repairs
from spark_jobs.pages.flow_of import flow_of
from spark_jobs.pages.run_page import run_page
from spark_jobs.repair.exchange.staging import ROWS, sample, sample_lines
from spark_jobs.repair.find.coverage import Coverage, coverage
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import Swapped, swap
from spark_jobs.repair.undo import undo
from spark_jobs.source.topic_state import topic_state
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.table.delta.table import Delta
from tests.harness import oracle
from tests.harness.command import answer, sluice, undone
from tests.harness.compare import assert_same
from tests.harness.long_form import LONG, long_form
from tests.harness.refused import because
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.spark import operators, truth

held = held_by(
    "unit/test_repaired.py", "simulation/test_simulation.py", "spark/properties/test_repairs.py"
)

HOUR = timedelta(hours=1)
RANGED = [
    pytest.param(
        operator,
        id=operator.spec.name,
        marks=[] if operator.spec.name == "update_window" else [long_form],
    )
    for operator in operators.ALL
    if unranged(operator.spec) is None
]
pytestmark = pytest.mark.usefixtures("examples")


class Repairs:
    """The repairs of one scene, each as the command line and Airflow do it."""

    def __init__(self, made: Scene) -> None:
        self.made = made

    def plan(self, kind: str = "repair", *ends: datetime) -> RepairPlan:
        given = dict(zip(("start", "end"), ends, strict=False))
        request = Request(kind=kind, who="test", **given)
        plan = plan_repair(self.made.spec, self.made.settings, request)
        if not plan.idle:
            plan.store(self.made.paths)
        return plan

    def stage(self, plan: RepairPlan) -> Report:
        run_id = f"stage-{plan.repair_id}"
        return stage(self.made.spec, self.made.settings, run_id, plan.repair_id)

    def swap(self, plan: RepairPlan) -> Swapped:
        return swap(self.made.spec, self.made.settings.root, plan.repair_id, "swap")

    def done(self, kind: str = "repair", *ends: datetime) -> tuple[Report, Swapped | None]:
        report = self.stage(plan := self.plan(kind, *ends))
        assert report.problem is None, report.problem
        return report, None if kind == "verify" else self.swap(plan)

    def row(self, plan: RepairPlan) -> dict[str, Any]:
        found = repairs.one(self.made.paths.root, self.made.spec.name, plan.repair_id)
        assert found is not None
        return found


def watermark_of(made: Scene) -> datetime:
    checkpoint = Checkpoint(made.paths.checkpoint)
    found = checkpoint.batch(checkpoint.committed()[-1]).watermark
    assert found is not None
    return found


def covered(made: Scene) -> Coverage:
    topic = topic_state(made.settings, made.spec.topic.name)
    return coverage(made.spec, made.paths, topic.earliest)


def rows(made: Scene) -> list[tuple[Any, ...]]:
    return oracle.comparable(made.table())


@pytest.mark.parametrize("operator", RANGED)
def test_after_a_repair_the_table_is_what_duckdb_makes_of_all_good_records(waiting, operator):
    made = waiting(operator.spec.name)
    watermark = truth.truth(operator, made.ledger, truth.ends(made)).watermark
    wanted = oracle.comparable(truth.canonical(operator, made.ledger, watermark))
    work = Repairs(made)
    report = work.stage(plan := work.plan())
    work.swap(plan)
    assert_same(rows(made), wanted, "the table after the repair")
    assert_the_account_adds_up(made, plan, report)
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    assert not [*made.paths.stagings.glob("*/records")], "bytes of records stay beside ops.late"
    assert len(made.ops("merged")) == sum(_fates(report))
    settled = {(row["partition"], row["offset"]) for row in made.ops("merged")}
    for row in made.ops("late"):
        if (row["partition"], row["offset"]) not in settled:
            assert _utc(row["event_time"]) + timedelta(days=1) > watermark, "its row is not final"
    assert Repairs(made).plan().idle


def assert_the_account_adds_up(made: Scene, plan: RepairPlan, report: Report) -> None:
    """The log, the page and ops.repairs have the numbers of the topic and of the ops tables."""
    found = report.account
    assert plan.late == len({*places(made.ops("late"), plan, needed=True)})
    read = {*places(made.ledger.to_pylist(), plan)} | {*places(made.ops("late"), plan, needed=True)}
    aside = {*places(made.ops("quarantine"), plan)} | {
        *places(made.ops("late"), plan, needed=False)
    }
    assert (found.read, found.kept_aside) == (len(read), len(aside))
    gone = found.malformed + found.premature + found.filtered + found.kept_aside + found.outside
    assert found.read == gone + found.accepted
    page = run_page(made.paths.root, made.spec.name, report.run_id)
    flow = flow_of(page)
    assert (flow.whole, flow.wrong) == (found.read, 0)
    row = repairs.one(made.paths.root, made.spec.name, plan.repair_id)
    assert [row[name] for name in ("read", "kept_aside", "outside", "used")] == [
        found.read, found.kept_aside, found.outside, found.accepted,
    ]  # fmt: skip
    assert [line for line in summary(report) if account_line(found) in line]


def places(
    records: list[dict[str, Any]], plan: RepairPlan, *, needed: bool | None = None
) -> Iterator[tuple[int, int]]:
    """Of those at offsets that the plan reads; or that it needs by their event times."""
    for row in records:
        at = row["partition"], row["offset"]
        reads = any(first <= at[1] < stop for first, stop in plan.parts.get(at[0], ()))
        within = needed is not None and any(
            span.start <= _utc(row["event_time"]) < span.end for span in plan.needed
        )
        if within if needed else reads and not within:
            yield at


DEMO = {
    "flight_events": oracle.flight_events,
    "departure_delays": oracle.departure_delays,
    "aircraft_rotations": oracle.aircraft_rotations,
}


@held
@pytest.mark.parametrize("pipeline", DEMO)
def test_a_table_of_the_demo_is_canonical_after_its_repair_by_verify(scene, monkeypatch, pipeline):
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")
    made = scene(pipeline, checked=True).thrice()
    watermark = watermark_of(made)
    wanted = DEMO[pipeline](oracle.events(made.ledger, set()), watermark)
    before = covered(made)
    assert before.balance.waiting == before.balance.late == len(made.ops("late"))
    assert "late" in {each.state for each in before.intervals}
    report, swapped = Repairs(made).done()
    assert swapped is not None
    after = covered(made)
    assert {each.state for each in after.intervals} <= {"canonical", "open"}
    assert after.balance.off == 0
    assert after.balance.merged == swapped.merged
    for one, other in zip(before.intervals, after.intervals, strict=True):
        if one.state == "late" and not other.late:  # else its rest touches a row that is not final
            assert (other.state, other.kind, other.who) == ("canonical", "repair", "test")
    assert_same(rows(made), oracle.comparable(wanted), "the table after the repair")
    assert [check.outcome for check in report.checks] == ["passed"] * len(report.checks)
    if pipeline == "aircraft_rotations" and not LONG:
        return  # its proof is a second replay, as long as the first
    day = datetime(2013, 1, 1, tzinfo=UTC)
    proof, _ = Repairs(made).done("verify", day, watermark - 3 * HOUR)
    assert proof.change.differs == 0
    assert proof.change.rows_after > 0


@held
@pytest.mark.parametrize("shown", [True, pytest.param(False, marks=long_form)])
def test_a_verify_of_a_table_that_lacks_late_records_fails_shows_rows_and_changes_nothing(
    waiting, caplog, monkeypatch, shown
):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown" if shown else "hidden")
    made = waiting("daily_flights")
    before, work = Delta(made.paths.table).version(), Repairs(made)
    plan = work.plan("verify", datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 3, tzinfo=UTC))
    assert work.plan("verify", *(datetime(2012, day, 1, tzinfo=UTC) for day in (1, 2))).idle
    report = work.stage(plan)
    assert report.problem.code == "CHECK_FAILED", report.problem
    assert (Delta(made.paths.table).version(), work.row(plan)["state"]) == (before, "failed")
    rows = sample(made.paths.staging(plan.repair_id))
    assert 0 < len(rows) <= ROWS
    for line in sample_lines(rows):
        assert (line in caplog.messages) is shown


@held
def test_a_backfill_makes_its_range_canonical_and_leaves_the_rest_to_the_byte(waiting):
    operator = operators.named("update_window")
    made = waiting(operator.spec.name)
    watermark = truth.truth(operator, made.ledger, truth.ends(made)).watermark
    wanted = truth.canonical(operator, made.ledger, watermark)
    late = sorted(row["event_time"] for row in made.ops("late"))
    start = late[len(late) // 2].replace(minute=0, second=0, microsecond=0)
    start -= timedelta(hours=start.hour % 3)
    end = start + 3 * HOUR

    def inside(row: dict[str, Any]) -> bool:
        return start < _utc(row["window_end"]) <= end

    before = made.table()
    Repairs(made).done("backfill", start, end)
    after = made.table()
    assert_same(
        oracle.comparable([row for row in after if inside(row)]),
        oracle.comparable([row for row in wanted if inside(row)]),
        "the range",
    )
    assert_same(
        oracle.comparable([row for row in after if not inside(row)]),
        oracle.comparable([row for row in before if not inside(row)]),
        "the rest",
    )
    again, swapped = Repairs(made).done("backfill", start, end)
    assert again.change.differs == 0
    assert swapped.state == "canonical"


@held
def test_drains_go_on_between_plan_and_swap_and_after_it_and_undo_takes_back_the_repair(scene):
    operator = operators.named("daily_flights")
    made = scene(operator.spec, deliveries=4, ran="first")
    made.deliver()
    made.deliver()
    made.run("second")
    work = Repairs(made)
    plan = work.plan()
    made.deliver()
    made.run("between")
    assert work.stage(plan).problem is None
    drains = rows(made)
    work.swap(plan)
    repaired = rows(made)
    assert repaired != drains
    assert made.run("after").account.unaccounted == 0
    undo(made.spec, made.settings.root, plan.repair_id, "undo")
    assert_same(rows(made), drains, "the table after the undo")
    assert not work.plan().idle, "its records wait again"


def _fates(report: Report) -> tuple[int, int, int]:
    return report.change.merged, report.change.duplicates, report.change.filtered


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


@held
def test_a_group_that_the_table_has_twice_is_found_and_its_copy_is_removed(waiting):
    made = waiting("update_window")
    work = Repairs(made)
    work.done()
    repaired = rows(made)
    live = deltalake.DeltaTable(str(made.paths.table))
    first = min(made.table(), key=lambda row: str(row["window_end"]))
    twice = live.to_pyarrow_table().filter(pc.field("window_end") == first["window_end"])
    deltalake.write_deltalake(live, twice, mode="append")
    ends = _utc(first["window_start"]), _utc(first["window_end"])
    report = work.stage(work.plan("verify", *ends))
    assert report.change.removed == twice.num_rows
    assert report.change.unexplained
    assert report.change.count_difference
    assert report.problem is not None
    plan = work.plan("backfill", *ends)
    assert work.stage(plan).problem is None
    told = [(row["op"], row["explained"]) for row in sample(made.paths.staging(plan.repair_id))]
    assert told == [("removed", False)] * ROWS, "one is explained, and is among the last"
    approve(made.paths, plan.repair_id, "a person")
    work.swap(plan)
    assert_same(rows(made), repaired, "the table without the copies")


def _deployed(made: Scene, folder: Path) -> None:
    """The scene's pipeline as a folder for a process of its own; a person approves every change."""
    spec = folder / "deployed" / made.spec.name / "spec.py"
    spec.parent.mkdir(parents=True)
    for package in (spec.parent, spec.parent.parent):
        (package / "__init__.py").touch()
    spec.write_text(
        "from spark_jobs.spec import Ranges\n"
        f"from tests.pipelines.{made.spec.name}.spec import SPEC as OURS\n\n"
        f'TOPIC = OURS.topic.model_copy(update={{"name": "{made.topic}"}})\n'
        'SPEC = OURS.model_copy(update={"topic": TOPIC, "ranges": Ranges(approve="always")})\n'
    )


@long_form
def test_a_person_at_a_terminal_sees_the_row_that_is_gone_says_no_and_then_yes(waiting, tmp_path):
    made = waiting("daily_flights")
    Repairs(made).done()
    whole = rows(made)
    gone = min(made.table(), key=lambda row: (str(row["window_end"]), row["origin"]))
    day = _utc(gone["window_start"])
    live = deltalake.DeltaTable(str(made.paths.table))
    live.delete(f"origin = '{gone['origin']}' AND window_start = '{day:%FT%TZ}'")
    lacking = Delta(made.paths.table).version()
    ends = ("--from", f"{day:%F}", "--to", f"{day + timedelta(days=1):%F}")
    words = ("deployed", "backfill", made.spec.name, *ends, "--execute")
    _deployed(made, tmp_path)

    no = undone(sluice(made, *words, beside=tmp_path, typed="n\n"))
    rows_shown, _, after = no.partition("Swap this change in?")
    assert "1 of the rows that differ:\n    added" in rows_shown
    assert f"origin {gone['origin']}" in rows_shown
    assert "is rejected" in after
    assert Delta(made.paths.table).version() == lacking

    yes = answer(sluice(made, *words, beside=tmp_path, typed="y\n"))
    assert "1 rows added, 0 removed, 0 changed" in yes
    assert_same(rows(made), whole, "yes")


@held
def test_a_spec_changed_since_the_plan_and_a_repair_in_the_table_are_not_staged(waiting):
    made = waiting("update_window")
    work = Repairs(made)
    plan, spec = work.plan(), made.spec
    made.change(topic=spec.topic.model_copy(update={"max_ahead": 5 * HOUR}))
    stale = work.stage(plan).problem
    because(stale, StagingStale, "spec_changed_since_plan")
    made.spec = spec
    assert work.stage(plan).problem is None
    work.swap(plan)
    again = work.stage(plan).problem
    because(again, StagingStale, "repair_ended", state="swapped")
    assert work.row(plan)["state"] == "swapped"


@held
def test_a_backfill_behind_a_repair_does_not_keep_its_records_settled_when_that_is_undone(waiting):
    made = waiting("update_window")
    work = Repairs(made)
    first = work.plan()
    assert work.stage(first).problem is None
    work.swap(first)
    span = first.spans[0]
    report, _ = work.done("backfill", span.start, span.end)
    assert report.change.merged == 0, "they were merged before"
    undo(made.spec, made.settings.root, first.repair_id, "undo")
    assert work.plan().spans == first.spans


@contextmanager
def compacted(made: Scene) -> Iterator[None]:
    """Within the block Kafka compacts the topic, of which other tests have a copy."""
    admin = AdminClient({"bootstrap.servers": made.kafka})

    def to(policy: str) -> None:
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        topic = ConfigResource(ResourceType.TOPIC, made.topic, incremental_configs=[entry])
        admin.incremental_alter_configs([topic])[topic].result()

    to("compact")
    yield
    to("delete")


@held
def test_a_range_of_a_compacted_topic_is_proved_while_all_of_its_records_are_there(waiting):
    """Compaction takes its time: in its place the index has three records more than Kafka."""
    made = waiting("daily_flights")
    does = Repairs(made)
    until = does.plan("repair").until
    ends = (until - timedelta(days=4), until - timedelta(days=1))
    with compacted(made):
        whole = does.plan("verify", *ends)
    assert whole.compacted
    assert any("compaction" in line for line in whole.lines)
    stored = deltalake.DeltaTable(str(made.paths.root / "ops" / "slices"))
    stored.update(updates={"records": "records + 3"}, predicate="batch_id >= 0")
    with compacted(made):
        thinned = does.plan("verify", *ends)
    assert whole.records is not None
    assert thinned.records is not None
    report = does.stage(thinned)
    assert report.problem.code == "RANGE_THINNED"
    assert (report.change.thinned, report.change.unaccounted) == (
        thinned.records - whole.records,
        0,
    )
    assert {check.column for check in report.checks if check.suite == "change"} == {
        "thinned",
        "unaccounted",
    }
