"""Several topics in one pipeline: one table, one watermark, an account of each and of all."""

import json
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from local.broker import create_topic
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.errors import StateIncompatible, TopicMissing, TopicRemade
from spark_jobs.messages.report import Report
from spark_jobs.runs.drain import drain
from spark_jobs.runs.explain import deep
from spark_jobs.runs.plan import plan
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Field, MoreTopics, Topic
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import PARTITIONS
from tests.harness.compare import assert_same
from tests.harness.refused import fails
from tests.harness.roots import ROOT, rows_of, told
from tests.harness.turns import held_by
from tests.spark.test_repair import Repairs
from tests.unit.specs import FIELDS, aggregate, deduplicate, pipeline

pytestmark = held_by("unit/test_several_topics.py", "unit/test_more_topics.py")

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
EU, US = 0, 1
Sent = dict[str, Any]


def american(**changes: Any) -> tuple[Field, ...]:
    """The same fields, elsewhere, and the time as a number."""
    return (
        Field(name="at", type="timestamp", path="meta.at", format="ms"),
        Field(name="id", type="string", path="saleId"),
        Field(name="amount", type="bigint", path="sale.cents", **{"required": False} | changes),
        Field(name="shop", type="string", path="sale.shop"),
    )


class Sales:
    """Two topics of their own, what was sent to them, and a root."""

    def __init__(self, kafka: str, folder: Any) -> None:
        self.kafka, self.sent = kafka, list[Sent]()
        names = [f"sales-{place}-{uuid.uuid4().hex[:8]}" for place in ("eu", "us")]
        self.topics = [
            Topic(name=name, fields=fields, event_time="at")
            for name, fields in zip(names, (FIELDS, american()), strict=True)
        ]
        for name, partitions in zip(names, (2, 1), strict=True):
            create_topic(kafka, name, partitions)
        self.settings = Settings.from_environment()._replace(kafka=kafka, root=str(folder / ROOT))
        self.declare()

    def declare(self, *, topics: int = 2, **changes: Any) -> None:
        usual: dict[str, Any] = {
            "steps": (deduplicate(), aggregate(keys=("topic", "shop"))),
            "watermark_delay": "1 hour",
            "state": {"shuffle_partitions": 1},
            "state_checks_off": ("nothing_accepted",),
        }
        self.spec = pipeline(topic=None, topics=tuple(self.topics[:topics]), **usual | changes)

    @property
    def paths(self) -> Paths:
        return Paths(self.settings.root, self.spec)

    def send(
        self, topic: int, *times: datetime, amount: Any = 5, copies: int = 1, ago=timedelta()
    ) -> None:
        """A record of each time, in Kafka since so long."""
        producer = Producer({"bootstrap.servers": self.kafka})
        for n, at in enumerate(times):
            known = {"id": uuid.uuid4().hex[:9], "shop": f"shop {n % 3}", "amount": amount}
            self.sent.append({"topic": self.topics[topic].name, "at": at, **known})
            milliseconds = int(at.timestamp() * 1000)
            value = known | {"at": at.isoformat()}
            if topic != EU:
                sale = {"cents": amount, "shop": known["shop"]}
                value = {"saleId": known["id"], "meta": {"at": milliseconds}, "sale": sale}
            for _ in range(copies):
                stamp = int((datetime.now(UTC) - ago).timestamp() * 1000)
                name = self.topics[topic].name
                producer.produce(name, json.dumps(value), key=known["id"], timestamp=stamp)
        assert producer.flush(30) == 0

    def broken(self, topic: int, copies: int = 1) -> None:
        producer = Producer({"bootstrap.servers": self.kafka})
        for _ in range(copies):
            producer.produce(self.topics[topic].name, b'{"saleId": 7}')
        assert producer.flush(30) == 0

    def drain(self, run_id: str = "run") -> Report:
        return drain(self.spec, self.settings, run_id)

    def run(self) -> Report:
        report = self.drain()
        assert report.status == "succeeded", report.problem
        assert report.account.unaccounted in {0, None}
        return report

    def ops(self, table: str) -> list[dict[str, Any]]:
        return told(self.paths.root, table)

    def by_topic(self) -> dict[str, Counter[str]]:
        """The account of each topic, over all batches."""
        found = {topic.name: Counter[str]() for topic in self.topics}
        for row in self.ops("batches"):
            for name, counts in json.loads(row["topics"] or "{}").items():
                found[name].update(counts)
        return found

    def rows(self) -> list[dict[str, Any]]:
        columns = ("topic", "shop", "window_start", "sales", "turnover")
        return [{name: row[name] for name in columns} for row in rows_of(self.paths.table)]

    def wanted(self, *, late: bool = False) -> list[dict[str, Any]]:
        """What DuckDB makes of the good records, less the late ones, in the windows that are
        closed.
        """
        missed = set() if late else {self._id(row) for row in self.ops("late")}
        sent = pa.Table.from_pylist(  # noqa: F841 - DuckDB reads it by its name
            [each for each in self.sent if each["id"] not in missed and each["amount"] != "x"]
        )
        found = duckdb.sql(
            'SELECT topic, shop, time_bucket(INTERVAL 1 HOUR, "at") AS window_start, '
            "count(*) AS sales, sum(amount)::BIGINT AS turnover FROM sent GROUP BY 1, 2, 3"
        )
        closed = found.filter(f"window_start + INTERVAL 1 HOUR <= '{self.watermark}'::TIMESTAMPTZ")
        rows: list[dict[str, Any]] = closed.to_arrow_table().to_pylist()
        return rows

    @staticmethod
    def _id(row: dict[str, Any]) -> str:
        value = json.loads(row["value"])
        return str(value.get("id") or value["saleId"])

    @property
    def watermark(self) -> datetime:
        checkpoint = Checkpoint(self.paths.checkpoint)
        found = checkpoint.batch(checkpoint.committed()[-1]).watermark
        assert found is not None
        return found

    def assert_exact(self, *, late: bool = False) -> None:
        assert_same(self.rows(), self.wanted(late=late), "the table")


@pytest.fixture
def sales(kafka, tmp_path) -> Sales:
    return Sales(kafka, tmp_path)


def hours(*ends: float) -> list[datetime]:
    """Every six minutes from so many hours after nine to so many, which are among them."""
    first, last = ends
    return [NINE + first * HOUR + n * 6 * MINUTE for n in range(round((last - first) * 10) + 1)]


def test_two_topics_of_their_own_declarations_are_one_table_with_an_account_of_each(sales):
    sales.declare(max_offsets_per_batch=40)
    assert next(iter(deep(sales.spec, sales.settings))).startswith("ok")
    sales.send(EU, *hours(0, 6), copies=2)
    sales.send(US, *hours(0, 5))
    sales.broken(US, copies=3)
    first = sales.run()
    sales.send(US, *hours(0, 0.5))  # late
    sales.send(EU, *hours(5, 8))
    second = sales.run()
    assert len({row["batch_id"] for row in sales.ops("batches")}) > 3
    sales.assert_exact()
    eu, us = (sales.by_topic()[topic.name] for topic in sales.topics)
    both = [first.account, second.account]
    for name in ("covered", "read", "malformed", "late", "accepted", "filtered"):
        assert eu[name] + us[name] == sum(getattr(each, name) for each in both), name
    assert (eu["malformed"], eu["late"], us["malformed"], us["late"]) == (0, 0, 3, 6)
    assert (eu["unaccounted"], us["unaccounted"]) == (0, 0)
    assert {row["topic"] for row in sales.ops("late")} == {sales.topics[US].name}
    assert {row["partition"] for row in sales.ops("quarantine")} == {PARTITIONS}
    lines = "\n".join(plan(sales.spec, sales.settings).lines)
    assert f"partition {sales.topics[US].name}/0: next {us['covered']}" in lines


def test_a_silent_topic_holds_the_others_back_until_silent_after_and_is_late_behind_it(sales):
    sales.send(EU, *hours(0, 9))
    sales.send(US, *hours(0, 1), ago=2 * HOUR)
    assert sales.run().watermark == NINE
    sales.declare(silent_after=3 * HOUR)
    assert plan(sales.spec, sales.settings).idle
    sales.declare(silent_after=HOUR)
    assert sales.topics[US].name in " ".join(plan(sales.spec, sales.settings).reasons)
    report = sales.run()
    assert report.watermark == hours(0, 9)[-1] - HOUR
    assert (report.account.read, report.account.rows_out > 0) == (0, True)
    sales.assert_exact()
    sales.send(US, *hours(1, 2), *hours(8.5, 9))
    again = sales.run()
    assert (again.account.late, again.account.accepted) == (11, 6)
    sales.assert_exact()


def test_a_topic_that_is_added_later_begins_where_it_begins_then(sales, monkeypatch):
    sales.declare(topics=1)
    sales.send(EU, *hours(0, 3))
    sales.run()
    sales.send(EU, *hours(3, 3.5))
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "planned", "raise")
        assert sales.drain("killed").status == "failed"
    sales.send(US, *hours(0, 1))  # retention takes them
    gone = [sales.sent.pop() for _ in hours(0, 1)]
    client = AdminClient({"bootstrap.servers": sales.kafka})
    place = TopicPartition(sales.topics[US].name, 0, len(gone))
    [each.result() for each in client.delete_records([place]).values()]
    sales.send(US, *hours(2, 4))
    sales.send(EU, *hours(3.5, 4))
    sales.declare()
    shown = plan(sales.spec, sales.settings)
    assert shown.new_offsets == len(hours(2, 4)) + 2 * len(hours(0, 0.5))
    assert any("topic.name" in line for line in shown.lines)
    report = sales.run()
    assert (report.account.read, report.account.gaps) == (shown.new_offsets, 0)
    sales.assert_exact()
    assert plan(sales.spec, sales.settings).idle
    again = partial(plan, sales.spec, sales.settings)
    sales.declare(topics=1)
    with fails(StateIncompatible, "spec_changed"):
        plan(sales.spec, sales.settings)
    sales.topics.reverse()
    sales.declare()
    with fails(StateIncompatible, "spec_changed"):
        plan(sales.spec, sales.settings)
    sales.topics.reverse()
    sales.declare()
    assert again().idle


def test_a_topic_that_is_added_later_begins_at_the_time_that_it_declares(sales):
    sales.declare(topics=1)
    sales.send(EU, *hours(0, 3))
    sales.run()
    sales.send(US, *hours(0, 1), ago=3 * HOUR)
    old = [sales.sent.pop() for _ in hours(0, 1)]
    sales.send(US, *hours(2, 4))
    declared = {"starting": datetime.now(UTC) - HOUR}
    sales.topics[US] = sales.topics[US].model_copy(update=declared)
    sales.declare()
    shown = plan(sales.spec, sales.settings)
    assert shown.new_offsets == len(hours(2, 4))
    report = sales.run()
    assert (report.account.read, report.account.gaps) == (shown.new_offsets, 0)
    assert report.offsets_start[str(PARTITIONS)] == len(old)
    sales.assert_exact()
    back = Checkpoint(sales.paths.checkpoint).committed()[0]
    rewind(sales.spec, sales.settings, back).execute()
    assert sales.run().account.read == shown.new_offsets
    sales.assert_exact()


def test_topics_that_come_later_are_read_as_they_come_and_stay_where_they_came(sales, monkeypatch):
    us = sales.topics[US]
    more = MoreTopics(pattern=f"sales-us-{us.name[-8:]}|sales-.*-{us.name[-8:]}-more", like=us)
    client = AdminClient({"bootstrap.servers": sales.kafka})
    [each.result() for each in client.delete_topics([us.name]).values()]
    sales.declare(topics=1, more_topics=more)
    sales.send(EU, *hours(0, 3))
    sales.run()
    assert plan(sales.spec, sales.settings).idle
    create_topic(sales.kafka, us.name, 1)
    sales.send(US, *hours(2, 3))
    assert plan(sales.spec, sales.settings).new_offsets == len(hours(2, 3))
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "planned", "raise")
        assert sales.drain("killed").status == "failed"
    # Its name is before that of the one that has come, and its place behind it.
    sales.topics.append(us.model_copy(update={"name": f"sales-as-{us.name[-8:]}-more"}))
    create_topic(sales.kafka, sales.topics[2].name, 1)
    sales.send(2, *hours(2, 4))
    sales.run()
    sales.assert_exact()
    known = live_spec(sales.spec, sales.settings.root)
    assert [each.name for each in known.topic.inputs] == [each.name for each in sales.topics]
    assert sales.by_topic()[sales.topics[2].name]["read"] == len(hours(2, 4))
    [each.result() for each in client.delete_topics([sales.topics[2].name]).values()]
    with fails(TopicMissing, "topic_absent", topic=sales.topics[2].name):
        plan(sales.spec, sales.settings)


def test_a_topic_that_is_gone_or_made_anew_is_named(sales):
    sales.send(EU, *hours(0, 1))
    sales.send(US, *hours(0, 1))
    sales.run()
    client, name = AdminClient({"bootstrap.servers": sales.kafka}), sales.topics[US].name
    [each.result() for each in client.delete_topics([name]).values()]
    with fails(TopicMissing, "topic_absent", topic=name):
        plan(sales.spec, sales.settings)
    create_topic(sales.kafka, name, 1)
    with fails(TopicRemade, "remade_since_checkpoint", topic=name):
        plan(sales.spec, sales.settings)


def test_a_repair_merges_late_records_and_a_replay_those_of_the_second_topics_new_declaration(
    sales,
):
    sales.topics[US] = sales.topics[US].model_copy(update={"fields": american(at_most=100)})
    sales.declare()
    sales.send(EU, *hours(0, 6))
    sales.send(US, *hours(0, 6))
    sales.send(US, *hours(1, 2), amount=700)
    sales.run()
    sales.send(US, *hours(0, 1))
    sales.send(EU, *hours(0, 1))
    assert sales.run().account.late == 22
    work = Repairs(sales)
    work.done()
    bad = [each for each in sales.sent if each["amount"] == 700]
    good = [each for each in sales.sent if each["amount"] != 700]
    sales.sent = good
    sales.assert_exact(late=True)
    assert work.plan("replay").idle
    sales.topics[US] = sales.topics[US].model_copy(update={"fields": american()})
    sales.declare()
    planned = work.plan("replay")
    assert {each.partition for each in planned.replays} == {PARTITIONS}
    report = work.stage(planned)
    assert report.problem is None, report.problem
    work.swap(planned)
    sales.sent = good + bad
    sales.assert_exact(late=True)
    proof, _ = work.done("verify", NINE, NINE + 4 * HOUR)
    assert proof.change.differs == 0
