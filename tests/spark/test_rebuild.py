"""A sum that becomes a maximum, rebuilt beside a draining pipeline: DuckDB's answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from local.publish import publish as send
from spark_jobs.admin.rebuild.beside import begin, beside_paths
from spark_jobs.admin.rebuild.compare import difference, lines
from spark_jobs.admin.rebuild.plan import plan_rebuild, refuse_lost
from spark_jobs.admin.rebuild.run import (
    JobAt,
    Rebuilding as RebuildRun,
    Submit,
    compute,
    drain_beside,
    switched,
)
from spark_jobs.admin.rebuild.switch import behind, switch, switch_back
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.errors import RebuildRefused, SluiceError
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import Report
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.runs.drain import drain
from spark_jobs.runs.plan import plan
from spark_jobs.source.topic_state import topic_state
from spark_jobs.spec import Archive, Pipeline, State
from spark_jobs.spec.analysis.ranged import position_of, unranged
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of
from spark_jobs.topics.flights import FLIGHTS
from tests.e2e.changed.miles_flown.spec import HOURS, SPEC
from tests.harness.listener import Listener
from tests.harness.long_form import long_form
from tests.harness.refused import fails
from tests.harness.scene import Scene, records
from tests.spark.miles import Rows, miles_by_hour

FARTHEST = {"flights": "count(*)", "miles": "CAST(max(distance_miles) AS BIGINT)"}
ARCHIVED = SPEC.model_copy(
    update={"topic": FLIGHTS.model_copy(update={"archive": Archive(keep=None)})}
)
WHOLE = SPEC.model_copy(update={"output_mode": "complete", "state": State(budget_rows=100_000)})
"""Its table is the whole result, of which no range can be computed."""
WITHOUT_TIME = {"broken_json", "null_event_time", "missing_event_time", "empty_value", "tombstone"}
"""Reasons of the generator's malformed records."""


class Rebuilding:
    """A drained pipeline, and NEXT beside it."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.spec = scene, scene.spec
        state = scene.spec.state.model_copy(update={"version": 2})
        changes = {"steps": (HOURS.model_copy(update={"measures": FARTHEST}),)}
        if scene.spec.steps != SPEC.steps:
            changes = {}
        self.next = scene.spec.model_copy(update=changes | {"state": state})
        self.root = scene.settings.root
        self.live = scene.paths
        self.side = beside_paths(self.live, self.next)
        self.beside = scene.settings._replace(next="on")

    def begin(self) -> None:
        topic_id = plan_rebuild(self.spec, self.next, self.scene.settings).topic_id
        begin(self.live, self.next, topic_id, "tester")

    def compute(self, run_id: str) -> Report:
        return good(drain(self.next, self.beside, run_id))

    def drain(self, spec: Pipeline, run_id: str) -> Report:
        return good(drain(spec, self.scene.settings, run_id))

    @property
    def paths(self) -> Paths:
        """NEXT's, as they are now."""
        return Paths(self.root, self.next)

    def rows(self, paths: Paths | None = None) -> Rows:
        """Of the first table, or of that of these paths."""
        return ordered(deltalake.DeltaTable(str((paths or self.live).table)))

    def expected(self, measure: str, paths: Paths) -> Rows:
        """By DuckDB: the hours that the checkpoint has closed, without what drains found late."""
        known = read_identity(paths)
        assert known is not None
        lost = pa.table(
            {
                name: [
                    row[name]
                    for row in self.scene.ops("late")
                    if row["generation"] == known.generation
                ]
                for name in ("partition", "offset")
            },
            schema=pa.schema([("partition", pa.int32()), ("offset", pa.int64())]),
        )
        kept = self.scene.ledger.join(lost, lost.column_names, join_type="left anti")
        return miles_by_hour(kept, measure, paths.checkpoint)


def ordered(table: deltalake.DeltaTable) -> Rows:
    rows = table.to_pyarrow_table().to_pylist()
    return sorted((r["window_start"], r["origin"], r["flights"], r["miles"]) for r in rows)


def good(report: Report) -> Report:
    assert report.status == "succeeded", report.problem
    assert report.account.unaccounted == 0
    return report


@pytest.fixture
def rebuilding(scene) -> Rebuilding:
    made = scene(SPEC, events=1500, deliveries=4, ran="live-1")
    return Rebuilding(made)


def test_a_sum_becomes_a_maximum_in_one_write_with_drains_on_both_sides(rebuilding, monkeypatch):
    it = rebuilding
    listener = Listener()
    listener.publish(it.live, it.spec)
    it.begin()
    it.compute("rebuild-1")
    it.scene.deliver()
    it.drain(it.spec, "live-2")  # beside the rebuild, which it does not know of
    assert behind(it.live, it.side) > 0
    it.compute("rebuild-2")
    assert behind(it.live, it.side) == 0

    before = it.rows()
    assert before == it.expected("sum", it.live)
    found = difference(table_of(it.live), table_of(it.side), it.next, position_of(it.next))
    computed = ordered(deltalake.DeltaTable(str(it.side.table)))
    assert sum(day.before for day in found.days) == len(before)
    assert sum(day.after for day in found.days) == len(computed)
    by_key = {row[:2]: row for row in before}
    changed = [row for row in computed if row[:2] in by_key and by_key[row[:2]] != row]
    assert sum(day.changed for day in found.days) == len(changed) > 0
    assert f"{len(changed):,} changed" in [*lines(found)][-1]

    with monkeypatch.context() as active:  # killed before it is written
        active.setitem(failpoint.ACTIVE, "change.begun", "raise")
        with pytest.raises(failpoint.Failure):
            switch(it.spec, it.next, it.root, "switch")
    assert "has not ended: the run completes it" in plan(it.next, it.scene.settings).lines[-1]

    it.scene.deliver()
    report = it.drain(it.next, "live-3")  # completes the switch, and drains
    assert report.account.read > 0
    assert it.rows(it.paths) == it.expected("max", it.paths)
    assert it.rows() == before

    assert listener.publish(it.paths, it.next) is not None
    assert ordered(deltalake.DeltaTable(str(it.paths.published_table))) == it.rows(it.paths)

    switch_back(it.next, it.spec, it.root, "back")
    assert it.rows() == before
    it.scene.deliver()
    it.drain(it.spec, "live-4")  # what came since the switch, and what came now
    assert it.rows() == it.expected("sum", it.live)
    assert listener.publish(it.live, it.spec) is not None
    assert [each.number for each in listener.events] == [1, 2, 3]
    assert ordered(deltalake.DeltaTable(str(it.live.published_table))) == it.rows()


@long_form
def test_a_table_of_which_no_range_can_be_computed_is_rebuilt_and_switched_to(scene, tmp_path):
    made = scene(WHOLE, events=1500, deliveries=3, ran="live-1")
    it, said = Rebuilding(made), list[str]()
    assert unranged(it.spec)
    assert unranged(it.next)
    made.deliver()
    run = begun(it, tmp_path, said)
    assert all(good(each) for each in compute(run).reports)
    sums = whole(made, "sum", [1])
    assert it.rows() == sums, "the live table is as it was"
    it.drain(it.spec, "live-2")  # beside the rebuild
    switched(run, lambda _: None)
    assert it.rows(it.paths) == whole(made, "max", [1, 2]) != sums
    made.deliver()
    it.drain(it.next, "live-3")
    assert it.rows(it.paths) == whole(made, "max", [1, 2, 3])


def whole(made: Scene, measure: str, deliveries: list[int]) -> Rows:
    """Of all good records of these deliveries: none is late for the whole result."""
    ledger = made.ledger
    of_these = pc.is_in(ledger["delivery"], pa.array(deliveries, ledger["delivery"].type))
    return miles_by_hour(ledger.filter(of_these), measure)


@long_form
def test_state_of_transform_with_state_goes_on_behind_a_switch(scene, tmp_path):
    made = scene("aircraft_rotations", events=1500, deliveries=2, stores=1)
    it = Rebuilding(made)
    twin = made.settings._replace(root=str(tmp_path / "twin"))
    made.deliver()
    made.run("live-1")
    good(drain(it.spec, twin, "twin-1"))
    it.begin()
    it.compute("rebuild-1")
    switch(it.spec, it.next, it.root, "switch")
    made.deliver()
    assert it.drain(it.next, "live-2").account.read > 0
    good(drain(it.spec, twin, "twin-2"))

    def rows(paths: Paths) -> list[str]:
        table = deltalake.DeltaTable(str(paths.table)).to_pyarrow_table()
        return sorted(map(str, table.to_pylist()))

    assert rows(it.paths) == rows(Paths(twin.root, it.spec)) != []


@long_form
def test_what_kafka_has_no_longer_comes_from_the_archive_and_belongs_to_the_table_from_then_on(
    scene, tmp_path
):
    made = scene(ARCHIVED, events=3000, deliveries=4)
    for number in range(3):
        made.deliver()
        live_and_archive(made, str(number))
    it = Rebuilding(made)
    sums = it.rows()
    gone = retention_takes(made, {p: end // 2 for p, end in ends(made).items()})
    plan = plan_rebuild(it.spec, it.next, made.settings)
    refuse_lost(it.spec, plan)
    assert f"then {gone:,} that Kafka has no longer, from the topic's archive" in plan.lines[-1]

    run = begun(it, tmp_path, [])
    drain_beside(run, "first")
    with fails(RebuildRefused, "archive_unread"):
        switched(run, lambda _: None)
    for point in ("staging", "staged", "staged.judged", "swap.leased", "swap.committed"):
        with cut_off_at(point):
            compute(run)
    with cut_off_at("swap.recorded"):  # of the swap that was cut off before
        compute(run)
    reports = compute(run).reports
    assert all(good(each) for each in reports)
    assert compute(run).reports == (), "once"
    assert it.rows() == sums
    kept = quarantined(run.side)
    assert kept == quarantined(it.live), "each bad record as the drains found it, once"
    assert {place: kind for place, (kind, *_) in kept.items()} == {
        (row["partition"], row["offset"]): row["kind"]
        for row in made.ledger.to_pylist()
        if row["kind"] in {"malformed", "premature"}
    }
    switched(run, lambda _: None)
    assert quarantined(it.paths) == kept

    def canonical() -> Rows:
        """Of all that was ever sent: nothing of it is late for a rebuild."""
        return miles_by_hour(made.ledger, "max", it.paths.checkpoint)

    assert it.rows(it.paths) == canonical()
    oldest = it.rows(it.paths)[0][0]
    proof = repaired(it, "verify", oldest, it.rows(it.paths)[-1][0])  # reads the archive
    assert (proof.change.newly_bad, proof.change.differs, proof.change.unaccounted) == (0, 0, 0)
    made.deliver()
    it.drain(it.next, "live-3")
    repaired(it, "repair")
    assert it.rows(it.paths) == canonical()


@long_form
def test_records_of_the_archive_of_which_none_is_good_are_in_quarantine_too(scene, tmp_path):
    made = scene(ARCHIVED, events=3000, deliveries=2)
    bad = [each for each in records(3000) if each.reason in WITHOUT_TIME]
    send(made.kafka, made.topic, bad, 9, made.ledger_folder, made.partitions)
    live_and_archive(made, "bad")
    first = ends(made)
    made.deliver_all()
    live_and_archive(made, "good")
    it, said = Rebuilding(made), list[str]()
    assert retention_takes(made, first) == len(bad)
    run = begun(it, tmp_path, said)
    for point in ("staged", "swap.committed"):
        with cut_off_at(point):
            compute(run)
    assert all(good(each) for each in compute(run).reports)
    assert compute(run).reports == (), "once"
    kept = quarantined(run.side)
    assert kept == quarantined(it.live)
    assert len(kept) > len(bad)
    told = f"read {len(bad)} records that only the archive has; {len(bad)} of them are malformed"
    assert told in "".join(said)
    sums = it.expected("max", run.side)
    switched(run, lambda _: None)
    assert it.rows(it.paths) == sums
    assert quarantined(it.paths) == kept


def live_and_archive(made: Scene, run_id: str) -> None:
    """A drain of the pipeline, and one of its topic's archive."""
    made.run(f"live-{run_id}")
    archive = archive_spec(made.spec.topic, made.spec.topic.archive or Archive())
    good(drain(archive, made.settings, f"archive-{run_id}"))


def ends(made: Scene) -> dict[int, int]:
    return topic_state(made.settings, made.topic).latest.by_partition


def retention_takes(made: Scene, until: dict[int, int]) -> int:
    """Kafka has only what is behind these offsets. How many records are gone."""
    places = [TopicPartition(made.topic, p, end) for p, end in until.items()]
    client = AdminClient({"bootstrap.servers": made.kafka})
    for done in client.delete_records(places).values():
        done.result()
    return sum(until.values())


def begun(it: Rebuilding, folder: Path, said: list[str]) -> RebuildRun:
    """A rebuild whose runs are in this process."""
    it.begin()
    submit = in_process(it, folder)
    return RebuildRun(it.spec, it.next, it.scene.settings, "rebuild", "tester", submit, said.append)


def in_process(it: Rebuilding, folder: Path) -> Submit:
    """What a spark-submit does."""

    def run(run_id: str, job_at: JobAt, _records: int) -> Report:
        job = job_at(folder / "report.json")
        if isinstance(job, Drain):
            return drain(it.next, it.beside, run_id)
        return stage(it.next, it.beside, run_id, job.repair_id)

    return run


@contextmanager
def cut_off_at(point: str) -> Iterator[None]:
    """Within the block, the process ends there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(failpoint.ACTIVE, point, "raise")
        with pytest.raises((failpoint.Failure, SluiceError), match=point):
            yield


Bad = dict[tuple[int, int], tuple[str, str, bytes | None]]


def quarantined(paths: Paths) -> Bad:
    """Place -> kind, reason and bytes of the records that its checkpoint has in ops.quarantine."""
    known = read_identity(paths)
    rows = ops_tables.query(
        paths.root,
        "quarantine",
        "SELECT * FROM quarantine WHERE " + ops_tables.among("generation", known.generations),
    ).to_pylist()
    found = {
        (row["partition"], row["offset"]): (row["kind"], row["reason"], row["value"])
        for row in rows
    }
    assert len(found) == len(rows), "a record is there twice"
    assert {kind for kind, *_ in found.values()} == {"malformed", "premature"}
    return found


def repaired(it: Rebuilding, kind: str, *ends: datetime) -> Report:
    """A repair of the live table, from plan to swap."""
    given = dict(zip(("start", "end"), ends, strict=False))
    settings = it.scene.settings
    planned = plan_repair(it.next, settings, Request(kind=kind, who="tester", **given))
    assert kind == "repair" or planned.archived
    planned.store(it.paths)
    report = good(stage(it.next, settings, planned.repair_id, planned.repair_id))
    if kind != "verify":
        swap(it.next, it.root, planned.repair_id, "swap")
    return report
