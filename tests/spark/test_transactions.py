"""Two tables of one source, whose transactions are published whole: whatever ends a run."""

import json
import uuid

import pytest
from confluent_kafka import Producer

from local.publish import create_topic
from spark_jobs.messages.stages import summary
from spark_jobs.pages.run_page import run_page
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Field, Pipeline, Topic, Transform
from spark_jobs.storage import failpoint
from spark_jobs.transactions import Transactions
from tests.harness.listener import Listener
from tests.harness.roots import rows_of
from tests.harness.scene import Scene

TABLES = {"orders": 2, "lines": 1}
"""Name -> partitions."""


class Shop:
    """A connector, in PostgreSQL's way: the number behind a transaction's differs in each record."""

    def __init__(self, kafka) -> None:
        self.prefix = f"shop-{uuid.uuid4().hex[:8]}"
        self.producer = Producer({"bootstrap.servers": kafka})
        self.lsn = 0
        self.sent = list[tuple[str, int, int]]()
        """Table, transaction and order of each change."""
        for name, partitions in {
            **{f"public.{t}": n for t, n in TABLES.items()},
            "transaction": 1,
        }.items():
            create_topic(kafka, f"{self.prefix}.{name}", partitions)

    def _id(self, transaction: int) -> str:
        self.lsn += 7
        return f"{transaction}:{self.lsn}"

    def _send(self, topic: str, value: dict, partition: int = 0) -> None:
        schemed = {"schema": {}, "payload": value} if self.lsn % 2 else value
        self.producer.produce(f"{self.prefix}.{topic}", json.dumps(schemed), partition=partition)

    def begin(self, transaction: int) -> None:
        self._send("transaction", {"status": "BEGIN", "id": self._id(transaction)})

    def change(self, transaction: int, table: str, order: int, partition: int = 0) -> None:
        block = {"id": self._id(transaction), "total_order": 9, "data_collection_order": order}
        row = {"id": transaction, "n": order}
        value = {"op": "c", "after": row, "ts_ms": 1_764_064_800_000, "transaction": block}
        self._send(f"public.{table}", value, partition)
        self.sent.append((table, transaction, order))

    def end(self, transaction: int, **counts: int) -> None:
        told = [{"data_collection": f"public.{t}", "event_count": n} for t, n in counts.items()]
        value = {"id": self._id(transaction), "event_count": 9, "data_collections": told}
        self._send("transaction", {"status": "END"} | value)

    def flush(self) -> None:
        assert self.producer.flush(30) == 0

    def rows(self, table: str, *transactions: int) -> set[tuple[int, int]]:
        return {(t, n) for name, t, n in self.sent if name == table and t in transactions}


@pytest.fixture
def shop(kafka) -> Shop:
    return Shop(kafka)


@pytest.fixture
def scenes(shop, kafka, tmp_path) -> dict[str, Scene]:
    """A pipeline of each table."""
    found = {}
    for table in TABLES:
        name = f"{shop.prefix}.public.{table}"
        topic = Topic(
            name=name,
            envelope="debezium",
            event_time="at",
            fields=(
                Field(name="id", type="bigint"),
                Field(name="n", type="bigint"),
                Field(name="at", type="timestamp", part="envelope", path="ts_ms", format="ms"),
            ),
        )
        spec = Pipeline(
            name=table,
            about="Changes.",
            topic=topic,
            publish_at=Transactions(topic=f"{shop.prefix}.transaction"),
            steps=(Transform(where="n > 0"),),
        )
        found[table] = Scene(kafka, tmp_path, spec, topic=name)
    return found


class Tables:
    """The pipelines, and who listens to what they publish."""

    def __init__(self, scenes: dict[str, Scene]) -> None:
        self.scenes = scenes
        self.listeners = {table: Listener() for table in scenes}

    def publish(self, table: str) -> str | None:
        """The transaction up to which it tells the table; None if it tells nothing."""
        scene = self.scenes[table]
        event = self.listeners[table].publish(scene.paths, scene.spec)
        return event.up_to.id if event else None

    def rows(self, table: str) -> set[tuple[int, int]]:
        return {(row["id"], row["n"]) for row in rows_of(self.scenes[table].paths.published_table)}


def test_two_tables_show_whole_transactions_whatever_ends_their_runs(shop, scenes, monkeypatch):
    tables, orders = Tables(scenes), scenes["orders"]
    shop.begin(1)
    for n in range(1, 5):
        shop.change(1, "orders", n, n % 2)
    shop.change(1, "lines", 1)
    shop.flush()
    found = plan(orders.spec, orders.settings)
    assert (found.idle, found.new_offsets) == (True, 0)
    waits = "partition 1: 2 offsets wait behind the source's transaction 1, open since"
    assert any(line.startswith(waits) for line in found.lines)

    shop.end(1, orders=4, lines=1)
    shop.begin(2)
    shop.change(2, "orders", 1, 0)
    shop.change(2, "orders", 2, 1)
    shop.flush()
    orders.change(max_offsets_per_batch=2, max_batches=1)
    cut_off = orders.run("limit")
    assert cut_off.bounded_by
    assert cut_off.up_to is None
    assert tables.publish("orders") is None, "its rows are of a part of a transaction"
    held = {"0": (1, "2"), "1": (1, "2")}
    assert {p: (of.offsets, of.transaction) for p, of in cut_off.held_back.items()} == held
    page = run_page(orders.paths.root, "orders", "limit")
    assert page.held_back == cut_off.held_back
    assert "transaction 2" in summary(cut_off)[-1]

    shop.change(2, "lines", 1)
    shop.end(2, orders=2, lines=1)
    shop.flush()
    orders.change(max_batches=None)
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "table.committed", "raise")
        assert orders.drain("killed").status == "failed"
    assert tables.publish("orders") is None

    shop.begin(3)
    shop.change(3, "orders", 1, 0)
    shop.end(3, orders=1, lines=1)
    shop.flush()
    for table, scene in scenes.items():
        assert scene.run("second").up_to.id == "2", "orders go on to it; of 3 lines lack a change"
        assert tables.publish(table) == "2"
        assert tables.rows(table) == shop.rows(table, 1, 2)
    ends = {of.events[-1].up_to for of in tables.listeners.values()}
    assert len(ends) == 1, "both are of one moment of the source"
    assert plan(orders.spec, orders.settings).new_offsets == 1

    assert plan(scenes["lines"].spec, scenes["lines"].settings).idle
    shop.change(3, "lines", 1)
    shop.flush()
    assert plan(scenes["lines"].spec, scenes["lines"].settings).new_offsets == 1
