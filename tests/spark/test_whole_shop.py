"""The whole shop: customers that follow changes, orders joined with payments and customers, days of
these. Behind the repairs each table is one DuckDB query over what was sent to the topics.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from confluent_kafka import Producer

from local import broker
from spark_jobs.messages.request import Request
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.ranges_due import untried
from spark_jobs.repair.planner import plan_repair
from spark_jobs.runs.plan import plan
from spark_jobs.storage import failpoint
from tests.harness.broker import forget_topic
from tests.harness.compare import assert_same, difference
from tests.harness.crash import Images, over
from tests.harness.listener import Listener
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = alike("a topic that is no broker's")

NAMES = ("customers", "order_facts", "daily_revenue")
"""The pipelines, each behind the ones that it reads."""
PARTS = {
    "shop.customers": ("customer_id", "lsn", "changed_at", "op", "country", "segment"),
    "shop.orders": ("order_id", "ordered_at", "buyer", "amount"),
    "shop.payments": ("order_id", "paid_at", "amount"),
}
FINAL = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 6, tzinfo=UTC))
GOOD = """
    CREATE VIEW {table} AS SELECT DISTINCT {columns} FROM (
        SELECT TRY_CAST(value AS JSON) AS v FROM sent WHERE topic = 'shop.{table}')
    WHERE v->>'{needed}' IS NOT NULL"""
VIEWS = (
    GOOD.format(table="customers", needed="customer_id", columns="""v->>'customer_id' AS customer_id,
        (v->>'lsn')::BIGINT AS lsn, (v->>'changed_at')::TIMESTAMPTZ AS changed_at, v->>'op' AS op,
        v->>'country' AS country, v->>'segment' AS segment"""),
    GOOD.format(table="orders", needed="amount", columns="""v->>'order_id' AS order_id,
        (v->>'ordered_at')::TIMESTAMPTZ AS "at", v->>'buyer' AS buyer,
        (v->>'amount')::DECIMAL(12, 2) AS amount"""),
    GOOD.format(table="payments", needed="amount", columns="""v->>'order_id' AS order_id,
        (v->>'paid_at')::TIMESTAMPTZ AS "at", (v->>'amount')::DECIMAL(12, 2) AS amount"""),
    "CREATE TABLE names AS FROM (VALUES ('DE', 'Germany'), ('FR', 'France')) t(code, name)",
    """
    CREATE VIEW versions AS SELECT * FROM (
        SELECT *, changed_at AS valid_from,
               lead(changed_at) OVER (PARTITION BY customer_id ORDER BY lsn) AS valid_to
        FROM customers) WHERE op <> 'd'""",
    """
    CREATE VIEW facts AS SELECT o.*, p."at" AS paid_at, p.amount AS paid_amount, v.country, v.segment,
           n.name AS country_name
    FROM orders o LEFT JOIN payments p ON p.order_id = o.order_id
        AND p."at" BETWEEN o."at" AND o."at" + INTERVAL 2 HOUR
    LEFT JOIN versions v ON v.customer_id = o.buyer AND o."at" >= v.valid_from
        AND (o."at" < v.valid_to OR v.valid_to IS NULL)
    LEFT JOIN names n ON n.code = v.country""",
)  # fmt: skip
QUERIES = {
    "customers": "SELECT *, valid_to IS NULL AS current FROM versions",
    "order_facts": "FROM facts",
    "daily_revenue": """
        SELECT date_trunc('day', "at") AS window_start, country, count(*) AS orders, sum(paid_amount) AS revenue
        FROM facts WHERE "at" < TIMESTAMPTZ '2026-03-06 00:00:00Z' GROUP BY ALL""",
}
FIRST = {
    "shop.customers": [
        ("c1", 1, "01T08:00", "c", "DE", "new"),
        ("c2", 2, "01T08:00", "c", "FR", None),
        ("c3", 3, "01T09:00", "c", "AT", "old"),
        ("c3", 3, "01T09:00", "c", "AT", "old"),
    ],
    "shop.orders": [
        ("before c1", "01T07:30", "c1", "1.50"),
        ("paid", "01T09:00", "c1", "2.00"),
        ("paid", "01T09:00", "c1", "2.00"),
        ("paid late", "01T15:00", "c1", "3.00"),
        ("at once", "01T12:00", "c2", "4.00"),
        ("of c4", "01T16:00", "c4", "5.25"),
        ("of nobody", "01T11:00", None, "6.00"),
        ("never paid", "01T23:00", "c3", "7.00"),
        ("lacks its amount", "01T12:00", "c1"),
        ("is no JSON",),
    ],
    "shop.payments": [
        ("paid", "01T09:30", "2.00"),
        ("paid", "01T09:30", "2.00"),
        ("at once", "01T12:00", "4.00"),
        ("of c4", "01T18:00", "5.00"),
        ("of nobody", "01T13:01", "6.00"),
        ("of no order", "01T23:00", "8.00"),
    ],
}
SECOND = {
    "shop.customers": [
        ("c2", 5, "02T12:00", "u", "DE", "old"),
        ("c1", 8, "02T20:00", "u", "DE", "old"),
    ],
    "shop.orders": [
        ("late", "01T10:30", "c1", "2.75"),
        ("paid late", "01T15:00", "c1", "3.00"),
        ("c2 was in FR", "02T11:59", "c2", "1.00"),
        ("c2 is in DE", "02T12:00", "c2", "1.25"),
        ("last of its day", "02T22:00", "c3", "9.00"),
    ],
    "shop.payments": [
        ("late", "01T11:00", "2.75"),
        ("paid late", "01T15:40", "3.00"),
        ("c2 was in FR", "02T13:00", "1.00"),
        ("c2 is in DE", "02T12:10", "1.25"),
        ("c2 is in DE", "02T12:10", "1.25"),
        ("last of its day", "02T22:05", "9.00"),
        ("lacks its amount", "02T22:00"),
    ],
}
"""Four are late: an order and its payment, a payment, and a copy of an order."""
THIRD = {
    "shop.customers": [
        ("c1", 4, "01T10:00", "u", "FR", "new"),
        ("c4", 6, "01T07:00", "c", "DE", None),
        ("c3", 7, "03T18:00", "d"),
    ],
    "shop.orders": [
        ("of c1 again", "03T08:00", "c1", "2.00"),
        ("c3 is gone", "03T19:00", "c3", "3.00"),
        ("end", "06T12:00", "c2", "1.00"),
    ],
    "shop.payments": [("of c1 again", "03T08:30", "2.00"), ("end", "06T12:01", "1.00")],
}
"""A customer is corrected behind its facts, and another one comes behind its own."""
Row = dict[str, Any]


class Shop:
    """The pipelines in one root, and what was sent to their topics."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.kafka, self.sent = kafka, list[Row]()
        for topic in PARTS:
            forget_topic(kafka, topic)
            broker.create_topic(kafka, topic, 1)
        self.scenes: dict[str, Scene] = {}
        for name in NAMES:
            spec = registry.load(name)
            self.scenes[name] = Scene(kafka, folder, spec, topic=spec.topic.name, stores=1)
        self._listeners = {name: Listener() for name in NAMES}

    def send(self, delivery: dict[str, list[tuple[Any, ...]]]) -> None:
        producer = Producer({"bootstrap.servers": self.kafka})
        for topic, rows in delivery.items():
            for row in rows:
                given = dict(zip(PARTS[topic], row, strict=False))
                timed = {
                    name: f"2026-03-{at}:00Z" for name, at in given.items() if name.endswith("_at")
                }
                value = json.dumps(given | timed) if len(row) > 1 else row[0]
                self.sent.append({"topic": topic, "value": value})
                producer.produce(topic, value)
        assert producer.flush(30) == 0

    def run(self, *names: str) -> None:
        for name in names or NAMES:
            self.scenes[name].run()
            self.publish(name)

    def publish(self, name: str) -> None:
        made = self.scenes[name]
        self._listeners[name].publish(made.paths, made.spec)

    def kill(self, name: str, at: str, folder: Path, monkeypatch) -> None:
        """All go on in a copy of the root, made when this one's first batch was there."""
        images = Images(self.scenes[name], folder)
        with monkeypatch.context() as within:
            within.setattr(failpoint, "at", lambda place: images.at(place) if place == at else None)
            self.scenes[name].run("killed")
        root = images.taken[min(images.taken)]
        self.scenes = {each: over(scene, root) for each, scene in self.scenes.items()}

    def repair(self, name: str) -> None:
        work = Repairs(self.scenes[name])
        assert untried(work.made.spec, work.made.paths), "the DAG repairs it behind its drain"
        staged = work.stage(found := work.plan())
        assert staged.problem is None, (staged.problem, found.lines)
        assert (staged.change.unexplained, staged.change.unaccounted) == (0, 0)
        work.swap(found)
        self.publish(name)

    def verify(self, name: str, **asked: Any) -> None:
        work = Repairs(self.scenes[name])
        given = Request(kind="verify", who="test", **asked)
        found = plan_repair(work.made.spec, work.made.settings, given)
        found.store(work.made.paths)
        report = work.stage(found)
        assert report.problem is None, (name, report.problem)
        assert (report.change.differs, report.change.unaccounted) == (0, 0), name

    def rows(self, name: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Those of the table, and DuckDB's of all that was sent."""
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("sent", pa.Table.from_pylist(self.sent))
            for view in VIEWS:
                db.execute(view)
            wanted = db.sql(QUERIES[name]).to_arrow_table().to_pylist()
        found = [row for row in self.scenes[name].table() if not row.get("_sluice_deleted")]
        columns = [*wanted[0]]
        given = (
            [tuple(str(row[of]) for of in columns) for row in rows] for rows in (found, wanted)
        )
        return next(given), next(given)

    def hold(self, name: str) -> None:
        assert_same(*self.rows(name), name)

    def batches(self, name: str) -> list[Row]:
        made = self.scenes[name]
        return [row for row in made.ops("batches") if row["pipeline"] == name]


@pytest.mark.usefixtures("spark")
def test_behind_the_repairs_each_table_of_the_shop_is_one_query_over_its_topics(
    kafka, tmp_path, monkeypatch
):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.examples.shop")
    shop = Shop(kafka, tmp_path)
    shop.send(FIRST)
    shop.run()
    shop.send(SECOND)
    shop.run("customers")
    shop.kill("order_facts", "table.committed", tmp_path / "images", monkeypatch)
    shop.run("order_facts", "daily_revenue")
    shop.send(THIRD)
    shop.run()
    for name, counts in {"order_facts": (3, 4), "daily_revenue": (0, 0)}.items():
        rows = shop.batches(name)
        assert {row["unaccounted"] for row in rows} == {0}
        assert tuple(sum(row[of] for row in rows) for of in ("malformed", "late")) == counts

    shop.hold("customers")
    missing, extra = difference(*shop.rows("order_facts"))
    assert {row[0] for row in missing} == {"late", "paid late", "of c4"}
    assert {row[0] for row in extra} == {"paid late", "of c4"}
    shop.repair("order_facts")
    shop.hold("order_facts")
    days = shop.scenes["daily_revenue"]
    assert not plan(days.spec, days.settings).idle, "what was replaced starts a run"
    shop.run("daily_revenue")
    shop.repair("daily_revenue")
    for name in NAMES:
        shop.hold(name)
    shop.verify("customers", keys="true")
    for name in NAMES[1:]:
        shop.verify(name, start=FINAL[0], end=FINAL[1])
