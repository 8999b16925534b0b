"""The plan: what a drain would do, from literal checkpoints and a topic that is said."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import (
    CheckpointBroken,
    LeaseHeld,
    OffsetsWentBack,
    RootNotWritable,
    StateIncompatible,
)
from spark_jobs.messages.part import HeldBack
from spark_jobs.messages.report import StateUse
from spark_jobs.registry.fingerprint.fields import in_force
from spark_jobs.runs import plan as planning, preflight
from spark_jobs.runs.plan import Plan
from spark_jobs.settings.installation import Settings
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline, State, fresh
from spark_jobs.storage.root.paths import Paths
from tests.harness.ran import python
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline

SPEC = pipeline()


class Installation:
    """A root, and what the broker says of the topic."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = Settings(str(root), "broker:9092", root, "local[1]", "1g")
        self.paths = Paths(str(root), SPEC)
        self.topic = SourceState("topic-1", Positions({0: 0, 1: 0}), Positions({0: 0, 1: 0}))
        says(monkeypatch, lambda: self.topic)

    def holds(self, latest: dict[int, int], earliest: dict[int, int] | None = None) -> None:
        self.topic = SourceState(
            "topic-1", Positions(earliest or dict.fromkeys(latest, 0)), Positions(latest)
        )

    def has_drained(self, *ends: dict[int, int], judged: int) -> None:
        """Batches that ended there and were committed, up to `judged` judged."""
        self.paths.ensure_writable()
        standing(Present(SPEC), self.paths).identity(self.topic).write(self.paths.identity)
        folder = begin(Path(str(self.paths.checkpoint)), dict(self.topic.earliest.by_partition))
        for batch, end in enumerate(ends):
            plan_batch(folder, batch, end)
            commit_batch(folder, batch)
        Cursor(audited=len(ends) - 1, judged=judged).write(self.paths.cursor)

    def holds_drained(self, ends: dict[int, int]) -> None:
        """Records that are in the table, and have passed."""
        self.holds(ends)
        self.has_drained(ends, judged=0)

    def plan(self, spec: Pipeline = SPEC) -> Plan:
        return planning.plan(spec, self.settings)

    def preflight(self, spec: Pipeline = SPEC) -> preflight.Preflight:
        source = source_of(spec, self.settings)
        return preflight.preflight(Present(spec), source, self.paths, self.settings)


@pytest.fixture
def installation(tmp_path, monkeypatch) -> Installation:
    return Installation(tmp_path / ROOT, monkeypatch)


def test_a_new_pipeline_on_an_empty_topic_has_nothing_to_do(installation):
    assert installation.plan().idle
    assert installation.plan().lines[-1].startswith("nothing to do")


def test_a_new_pipeline_reads_all_that_retention_has_left(installation):
    installation.holds({0: 50, 1: 20}, earliest={0: 30, 1: 0})
    plan = installation.plan()
    assert (plan.new_offsets, plan.reasons) == (40, ("40 new offsets to read",))


def test_a_drained_topic_leaves_nothing_to_do(installation):
    installation.holds({0: 50, 1: 20})
    installation.has_drained({0: 30, 1: 10}, {0: 50, 1: 20}, judged=1)
    assert installation.plan().idle


def test_new_records_are_counted_by_partition(installation):
    installation.holds_drained({0: 50, 1: 20})
    installation.holds({0: 53, 1: 20, 2: 4})
    plan = installation.plan()
    assert plan.new_offsets == 7
    assert [line for line in plan.lines if line.startswith("partition")] == [
        "partition 0: next 50, end 53, 3 new",
        "partition 1: next 20, end 20, 0 new",
        "partition 2: next 0, end 4, 4 new",
    ]


@pytest.mark.parametrize("before", [(), ({0: 50},)])
def test_a_batch_that_was_begun_and_not_committed_is_a_reason_to_run(installation, before):
    installation.holds({0: 50})
    installation.has_drained(*before, judged=len(before) - 1)
    plan_batch(installation.paths.checkpoint, len(before), {0: 50})
    assert f"batch {len(before)} was begun and" in " ".join(installation.plan().reasons)


def test_batches_that_have_not_passed_the_checks_are_a_reason_to_run(installation):
    installation.holds({0: 50})
    installation.has_drained({0: 20}, {0: 50}, judged=0)
    [reason] = installation.plan().reasons
    assert reason.startswith("batches 1 to 1 have not passed the checks yet")


def test_a_plan_refuses_what_the_drain_would_refuse(installation):
    installation.holds_drained({0: 50})
    with pytest.raises(StateIncompatible):
        installation.plan(pipeline(steps=SPEC.steps[1:]))


def test_as_many_new_offsets_as_lost_ones_are_not_nothing_to_do(installation):
    installation.holds_drained({0: 50, 1: 20})
    installation.holds({0: 45, 1: 25})
    with fails(OffsetsWentBack, "topic_went_back", where=has("partition 0 ends at 45")):
        installation.plan()


def test_a_plan_says_what_of_a_changed_spec_is_not_in_force(installation):
    installation.holds_drained({0: 20, 1: 0})
    lines = installation.plan(pipeline(state=State(shuffle_partitions=3))).lines
    assert any(
        "state.shuffle_partitions: the spec sets 3; the checkpoint uses 2" in line for line in lines
    )
    assert any(", 2 shuffle partitions" in line for line in lines)


def test_a_plan_beside_a_running_drain_names_it(installation):
    installation.has_drained(judged=-1)
    with (
        lease(installation.paths.lease, "run-1"),
        fails(LeaseHeld, "held", holder=has("run run-1")),
    ):
        installation.plan()


def test_a_root_that_cannot_be_a_folder_is_refused_with_the_reason(installation):
    Path(installation.settings.root).write_text("a file")
    with fails(RootNotWritable, "not_writable"):
        installation.plan()


def test_planning_leaves_the_checkpoint_as_it_was(installation):
    installation.holds({0: 50})
    installation.has_drained({0: 20}, judged=0)
    root = Path(installation.settings.root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert not installation.plan().idle
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_torn_entry_of_the_logs_is_refused_by_its_name_before_anything_runs(installation):
    installation.holds_drained({0: 10, 1: 0})
    assert installation.plan().idle
    (installation.paths.checkpoint / "commits" / "0").write_text("")
    with fails(CheckpointBroken, "file_damaged", what=has("commits/0")):
        installation.plan()


@pytest.mark.parametrize(
    ("name", "content", "reason", "told"),
    [
        ("identity", '{"gener', "identity_lost", "path"),
        ("identity", None, "identity_lost", "path"),
        ("cursor", '{"gener', "file_damaged", "what"),
    ],
)
def test_so_is_what_lies_beside_the_checkpoint(installation, name, content, reason, told):
    """A checkpoint without an identity is not taken for a new one."""
    installation.holds_drained({0: 10, 1: 0})
    path = getattr(installation.paths, name)
    path.write_text(content) if content else path.unlink()
    with fails(CheckpointBroken, reason, **{told: has(f"{name}.json")}):
        installation.plan()


def test_a_preflight_says_what_is_in_force_what_is_lost_and_where_the_run_writes(installation):
    installation.holds_drained({0: 20, 1: 5})
    installation.holds({0: 50, 1: 5}, earliest={0: 30, 1: 0})
    changed = pipeline(
        state=State(shuffle_partitions=3),
        watermark_delay=timedelta(hours=3),
        on_lost_records="skip",
    )
    found = installation.preflight(changed)
    ours = in_force(changed, found.identity.fingerprint)
    assert (ours.state.shuffle_partitions, ours.watermark_delay) == (2, timedelta(hours=3))
    assert found.lost == {0: (20, 29)}
    assert found.topic.latest == Positions({0: 50, 1: 5})
    assert (found.cursor.judged, found.checkpoint.committed()) == (0, [0])
    target, here = found.target._replace(table=found.target.table.path), installation.paths
    owner = f"{SPEC.name}/{found.identity.generation}"
    assert target == (here.checkpoint, here.cursor, here.failing, here.table, owner)
    warned = [line.split(":")[0] for line in found.warnings]
    assert warned == ["state.shuffle_partitions", "watermark_delay"]
    assert found.lines[:-1] == found.warnings
    assert found.lines[-1].endswith("partition 0: 10 records (20 to 29)")


def test_before_the_first_batch_nothing_was_made_by_a_spec_of_before(installation):
    installation.holds({0: 20, 1: 5})
    installation.has_drained(judged=-1)
    found = installation.preflight(pipeline(watermark_delay=timedelta(hours=3)))
    assert found.made == found.identity


def test_a_preflight_writes_nothing_where_nothing_is(installation):
    installation.holds({0: 20})
    assert installation.preflight().identity.topic_id == "topic-1"
    assert not Path(installation.settings.root).exists()


def test_neither_a_plan_nor_a_preflight_loads_spark():
    code = "import sys, spark_jobs.runs.plan; print({'pyspark', 'delta'} & {*sys.modules})"
    assert python(code).stdout == "set()\n"


@pytest.mark.parametrize(
    ("timestamps", "told"),
    [
        ("CreateTime", "CreateTime, by the producers' clocks"),
        ("LogAppendTime", "LogAppendTime, by the brokers' clocks"),
        ("", "the brokers did not tell"),
    ],
)
def test_a_plan_says_whose_clock_the_topic_has(installation, timestamps, told):
    installation.topic = SourceState("topic-1", Positions({0: 0}), Positions({0: 0}), timestamps)
    [line] = [line for line in installation.plan().lines if line.startswith("Kafka timestamps")]
    assert told in line


@pytest.mark.parametrize(("ahead", "slow"), [(3600, True), (4.9, False), (-3600, False)])
def test_a_clock_that_is_behind_the_brokers_is_told(installation, ahead, slow):
    appended = datetime.now(UTC) + timedelta(seconds=ahead)
    installation.topic = SourceState(
        "topic-1", Positions({0: 0}), Positions({0: 0}), "LogAppendTime", appended
    )
    assert ("this machine's clock is slow" in " ".join(installation.plan().lines)) is slow


@pytest.mark.parametrize(
    ("provider", "master", "told"),
    [
        ("hdfs", "spark://master:7077", True),
        ("hdfs", "local[1]", False),
        ("rocksdb", "spark://master:7077", False),
    ],
)
def test_a_state_store_that_a_cluster_does_not_bound_is_told(installation, provider, master, told):
    installation.settings = installation.settings._replace(master=master)
    lines = installation.plan(pipeline(state=State(provider=provider))).lines
    assert ("each run replays" in " ".join(lines)) is told


def test_of_a_partition_that_was_added_only_what_retention_has_left_is_new(installation):
    installation.holds_drained({0: 50})
    installation.holds({0: 50, 1: 45}, earliest={0: 0, 1: 40})
    assert installation.plan(pipeline(on_lost_records="skip")).new_offsets == 5


def test_a_newest_record_from_the_future_is_told_and_hides_no_silence(installation, monkeypatch):
    spec = pipeline(close_after="30 minutes")
    ahead = datetime.now(UTC) + timedelta(days=365)
    installation.holds({0: 50})
    says(monkeypatch, installation.topic, ahead)
    installation.has_drained({0: 50}, judged=0)
    Cursor(audited=0, judged=0, state=StateUse(rows=3)).write(installation.paths.cursor)
    hours_ago = int((datetime.now(UTC) - timedelta(hours=5)).timestamp() * 1000)
    plan_batch(installation.paths.checkpoint, 0, {0: 50}, clock_ms=hours_ago)
    plan = installation.plan(spec)
    assert "silent for close_after" in " ".join(plan.reasons)
    assert "which is still to come" in " ".join(plan.lines)


def test_what_waits_behind_an_open_transaction_is_told_and_not_that_all_is_drained(installation):
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    installation.holds_drained({0: 50, 1: 7})
    installation.topic = installation.topic._replace(
        held={1: HeldBack(offsets=16, since=since), 0: HeldBack(offsets=2, since=None)}
    )
    plan = installation.plan()
    assert plan.idle
    told = " ".join(plan.lines)
    assert "partition 0: 2 offsets wait behind an open transaction, of unknown age" in told
    assert (
        "partition 1: 16 offsets wait behind an open transaction, open since 2026-01-02 03:04:05"
        in told
    )
    assert "every offset is drained" not in told


def test_a_check_that_time_alone_lets_fail_is_a_reason_to_run(installation):
    installation.holds_drained({0: 50})
    cursor = Cursor(audited=0, judged=0, last_event_time=datetime.now(UTC) - timedelta(hours=3))
    cursor.write(installation.paths.cursor)
    by = {"by": "event_time", "severity": "warning"}
    assert installation.plan(pipeline(state_checks=(fresh("4 hours", **by),))).idle
    assert len(installation.plan(pipeline(state_checks=(fresh("2 hours", **by),))).reasons) == 1
