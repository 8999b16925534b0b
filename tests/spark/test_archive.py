"""A topic's archive has every record byte for byte, and serves when Kafka has nothing left."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.decode import decoder
from spark_jobs.errors import CheckpointBroken, RecordsUnreachable, StateUnreadable, TopicRemade
from spark_jobs.messages.report import Report
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import ArchiveSpec, archive_spec
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.offsets.archived import archived
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.runs.drain import drain
from spark_jobs.source.topic_state import topic_state
from spark_jobs.spec import Archive
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import floor
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.refused import because, fails, has as part
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.spark import operators, truth

Row = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
pytestmark = [
    pytest.mark.usefixtures("examples"),
    held_by("unit/test_topic_archive.py", "spark/test_headers.py"),
]


class Archived:
    """The archive of a scene's topic."""

    def __init__(self, made: Scene, **declared: Any) -> None:
        self.made = made
        self.spec: ArchiveSpec = archive_spec(made.spec.topic, Archive(**declared))

    @property
    def paths(self) -> Paths:
        """Of what is live: a reset makes another place so."""
        return Paths(self.made.settings.root, self.spec)

    def drain(self, run_id: str) -> Report:
        return drain(self.spec, self.made.settings, run_id)

    def run(self, run_id: str) -> Report:
        report = self.drain(run_id)
        assert report.status == "succeeded", report.problem
        account = report.account
        assert account.unaccounted == 0
        assert account.covered == account.read + account.gaps
        assert account.read == account.rows_out
        return report

    def rows(self) -> list[Row]:
        table = deltalake.DeltaTable(str(self.paths.table))
        found = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
        return list(pa.table(found).to_pylist())

    def has(self) -> dict[int, tuple[tuple[int, int], ...]]:
        topic_id = topic_state(self.made.settings, self.made.topic).id
        return archived(self.paths.root, self.made.spec.inputs, topic_id)


def in_kafka(made: Scene) -> list[Row]:
    """Every record as a plain consumer gets it."""
    client = Consumer(
        {"bootstrap.servers": made.kafka, "group.id": "x", "enable.auto.commit": "false"}
    )
    try:
        partitions = client.list_topics(made.topic).topics[made.topic].partitions
        return [row for number in partitions for row in _of(client, made.topic, number)]
    finally:
        client.close()


def _of(client: Consumer, topic: str, number: int) -> Iterator[Row]:
    low, high = client.get_watermark_offsets(TopicPartition(topic, number))
    client.assign([TopicPartition(topic, number, low)])
    at = low
    while at < high:
        for message in client.consume(1000, timeout=5):
            assert message.error() is None
            at = message.offset() + 1
            yield {
                "partition": number,
                "offset": message.offset(),
                "kafka_timestamp": EPOCH + timedelta(milliseconds=message.timestamp()[1]),
                "key": message.key(),
                "value": message.value(),
            }


@contextmanager
def broken(archive: Archived) -> Iterator[None]:
    """Within the block nobody knows what the archive lacks."""
    archive.paths.removed.write_text("{")
    yield
    archive.paths.removed.unlink()


def empty(made: Scene) -> None:
    """What retention does in the end: no record is left."""
    latest = topic_state(made.settings, made.topic).latest.by_partition
    client = AdminClient({"bootstrap.servers": made.kafka})
    places = [TopicPartition(made.topic, partition, end) for partition, end in latest.items()]
    for place, done in client.delete_records(places).items():
        assert done.result().low_watermark == latest[place.partition]


def bytes_of(rows: list[Row]) -> list[Row]:
    names = ("partition", "offset", "kafka_timestamp", "key", "value")
    return [{name: row[name] for name in names} for row in rows]


def repair(made: Scene) -> RepairPlan:
    plan = plan_repair(made.spec, made.settings, Request(kind="repair", who="test"))
    plan.store(made.paths)
    report = stage(made.spec, made.settings, f"stage-{plan.repair_id}", plan.repair_id)
    assert report.problem is None, report.problem
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    return plan


def staged(made: Scene, plan: RepairPlan) -> list[tuple[Any, ...]]:
    table = deltalake.DeltaTable(str(made.paths.staging(plan.repair_id) / "rows"))
    return oracle.comparable(table.to_pyarrow_table().to_pylist())


def assert_whole(archive: Archived) -> None:
    """It has every record of Kafka, of every kind, in files that tell their offsets."""
    made = archive.made
    kept = archive.rows()
    assert_same(bytes_of(kept), bytes_of(in_kafka(made)), "the archive")
    assert {row["topic_id"] for row in kept} == {topic_state(made.settings, made.topic).id}
    told = {(row["partition"], row["offset"]): row for row in made.ledger.to_pylist()}
    assert {told[row["partition"], row["offset"]]["kind"] for row in kept} == {
        "good",
        "duplicate",
        "malformed",
        "premature",
    }
    for row in kept:
        sent = told[row["partition"], row["offset"]]
        if sent["kind"] != "malformed":
            assert row["event_time"] == sent["event_time"]
        assert row["event_date"] == (row["event_time"].date() if row["event_time"] else None)
    assert any(row["event_time"] is None for row in kept)
    for file in archive.paths.table.glob("event_date=*/*.parquet"):
        read = pa.parquet.read_table(str(file), columns=["partition", "offset"]).to_pylist()
        places = [(row["partition"], row["offset"]) for row in read]
        assert places == sorted(places)
        codec = pa.parquet.read_metadata(str(file)).row_group(0).column(0).compression
        assert codec == "ZSTD"


def test_a_repair_from_the_archive_is_that_from_kafka_to_the_byte_without_kafka(scene, monkeypatch):
    operator = operators.named("update_window")
    made = scene(operator.spec, events=3000)
    archive = Archived(made, keep="4000 days")
    made.deliver()
    made.run("drain-0")
    archive.run("archive-0")
    for number in (1, 2):
        made.deliver()
        made.run(f"drain-{number}")
    with monkeypatch.context() as cut:
        cut.setattr(failpoint, "at", raises_once_committed)
        assert archive.drain("killed").problem is not None
    assert archive.run("archive-1").recovered == ()
    assert archive.run("nothing new").account.read == 0

    assert_whole(archive)
    has = archive.has()
    with broken(archive):
        from_kafka = repair(made)
        with fails(CheckpointBroken, "removals_unreadable"):
            doctor(archive.spec, made.settings)
    assert any("not read" in line and "sluice reset" in line for line in from_kafka.lines)
    from_archive = repair(made)
    assert (from_kafka.archived, from_archive.parts) == ({}, {})
    assert from_archive.archived == from_kafka.parts
    assert any("from the archive" in line for line in from_archive.lines)
    assert staged(made, from_archive) == staged(made, from_kafka)

    empty(made)
    latest = topic_state(made.settings, made.topic).latest.by_partition
    assert has == {partition: ((0, end),) for partition, end in latest.items() if end}
    unread = fails(RecordsUnreachable, "archive_broken", broken=part("removed.json"))
    with broken(archive), unread:
        plan_repair(made.spec, made.settings, Request(kind="repair", who="test"))
    with fails(StateUnreadable, "state_of_no_batch"):
        rewind(archive.spec, made.settings, 0)
    plan = repair(made)
    assert staged(made, plan) == staged(made, from_kafka)
    swap(made.spec, made.settings.root, plan.repair_id, "swap")
    watermark = truth.truth(operator, made.ledger, truth.ends(made)).watermark
    wanted = oracle.comparable(truth.canonical(operator, made.ledger, watermark))
    assert_same(oracle.comparable(made.table()), wanted, "the table after the repair")
    assert archive.run("of an empty topic").account.read == 0
    assert_missed(made, archive, plan.until)


def assert_missed(made: Scene, archive: Archived, until: datetime) -> None:
    """Records that the index does not know are in the plan's count: the stage misses lost ones."""
    hole = f"pipeline = '{made.spec.name}' AND batch_id > 0"
    ops_tables.remove(made.paths.root, "slices", hole)
    end = floor(until, timedelta(hours=1))
    request = Request(kind="verify", start=end - timedelta(hours=12), end=end)
    plan = plan_repair(made.spec, made.settings, request)
    plan.store(made.paths)
    partition, [(first, _), *_] = next(iter(plan.archived.items()))
    gone = f'"partition" = {partition} AND "offset" >= {first} AND "offset" < {first + 3}'
    deltalake.DeltaTable(str(archive.paths.table)).delete(gone)
    report = stage(made.spec, made.settings, "missed", plan.repair_id)
    assert report.problem.code == "CHECK_FAILED"
    assert report.change.unaccounted == 3


def test_a_topic_made_anew_and_what_retention_took_are_kept_apart_and_told(scene, monkeypatch):
    made = scene(operators.named("update_window").spec, events=900, deliveries=4)
    archive = Archived(made, keep=None)
    made.deliver()
    archive.run("first")
    old, before = topic_state(made.settings, made.topic).id, archive.rows()
    client = AdminClient({"bootstrap.servers": made.kafka})
    client.delete_topics([made.topic])[made.topic].result()
    while made.topic in client.list_topics(timeout=5).topics:
        pass
    client.create_topics([NewTopic(made.topic, made.partitions, 1)])[made.topic].result()
    made.deliver()

    refused = archive.drain("refused")
    reset_it = part(archive.spec.name)
    because(refused.problem, TopicRemade, "remade_since_checkpoint", reset=reset_it)
    intent = reset(archive.spec, made.settings)
    assert any("stays" in line for line in intent.lines)
    intent.execute()
    archive.run("of the new topic")
    assert bytes_of([row for row in archive.rows() if row["topic_id"] == old]) == bytes_of(before)
    news = [row for row in archive.rows() if row["topic_id"] != old]
    assert_same(bytes_of(news), bytes_of(in_kafka(made)), "the records of the new topic")

    made.deliver()
    latest = topic_state(made.settings, made.topic).latest.by_partition
    end = Checkpoint(archive.paths.checkpoint).batch(0).end.by_partition
    partition = max(end, key=lambda p: latest[p] - end[p])
    [deleted] = client.delete_records(
        [TopicPartition(made.topic, partition, end[partition] + 5)]
    ).values()
    deleted.result()
    report = archive.run("overtaken")
    assert report.lost == {str(partition): (end[partition], end[partition] + 4)}
    assert archive.has()[partition] == (
        (0, end[partition]),
        (end[partition] + 5, latest[partition]),
    )
    [lag] = [check for check in report.checks if check.column == "archive_lag"]
    assert lag.outcome == "failed"
    assert len(archive.rows()) == len(
        {(r["topic_id"], r["partition"], r["offset"]) for r in archive.rows()}
    )
    again = archive.run("after")
    assert again.account.read == 0
    made.deliver()
    with monkeypatch.context() as once:
        overtake_in_its_batch(once, made, partition, latest[partition] + 7)
        report = archive.run("overtaken in its batch")
    assert (report.lost, report.account.removed) == ({}, 7)
    assert archive.has()[partition][-2][1] == latest[partition]
    assert archive.has()[partition][-1][0] == latest[partition] + 7


def overtake_in_its_batch(once, made, partition, offset) -> None:
    """Retention takes all before this offset while the next batch is planned and not read."""
    client, at = AdminClient({"bootstrap.servers": made.kafka}), failpoint.at

    def overtakes(point: str) -> None:
        if point == "planned":
            once.setattr(failpoint, "at", at)
            place = TopicPartition(made.topic, partition, offset)
            [gone] = client.delete_records([place]).values()
            gone.result()

    once.setattr(failpoint, "at", overtakes)


def raises_once_committed(point: str) -> None:
    if point == "table.committed":
        raise failpoint.Failure(point)


@pytest.mark.parametrize("by_python", [False, True])
def test_headers_that_no_field_reads_are_kept_for_specs_to_come(scene, monkeypatch, by_python):
    """Whoever decodes; a record without headers has none, and not null."""
    if by_python:
        monkeypatch.setattr(decoder, "why_python", lambda *_: "it is asked to")
    made = scene(operators.named("update_window").spec, events=40, deliveries=1)
    made.deliver()
    headers = [("trace", b"\xff\x00"), ("trace", None), ("tenant", b"a")]
    for value in ("no JSON", '{"event_time": "2013-01-01T00:00:00Z"}'):
        made.send(value, headers=headers, partition=0)
    archive = Archived(made)
    archive.run("whole")
    wanted = [{"key": key, "value": value} for key, value in headers]
    found = [row["headers"] for row in archive.rows()]
    assert [each for each in found if each] == [wanted] * 2
    assert None not in found
    assert_same(bytes_of(archive.rows()), bytes_of(in_kafka(made)), "the archive")
