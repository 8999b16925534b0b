"""A shop: orders with their customer as of the order's time, from a History that follows changes; by
DuckDB over both topics.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from local import broker
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.errors import DimensionUnfit
from spark_jobs.launch.session import session
from spark_jobs.messages.job import Prove
from spark_jobs.proof.run import prove
from spark_jobs.registry import find as registry
from spark_jobs.repair.manifest import approve
from spark_jobs.runs.plan import plan
from spark_jobs.settings.installation import Settings
from spark_jobs.source.place import Place
from spark_jobs.storage import failpoint
from spark_jobs.table.published import table as published
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.refused import because
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

pytestmark = alike("a lookup")

FINAL = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, 13, tzinfo=UTC))
Row = dict[str, Any]
JOINED = """
    WITH spans AS (
        SELECT *, lead(changed_at) OVER (PARTITION BY customer_id ORDER BY lsn) AS ends FROM changes),
    facts AS (
        SELECT o.order_id, o.ordered_at AS "at", o.buyer, o.amount::DECIMAL(12, 2) AS amount,
               CASE WHEN op <> 'd' THEN c.country END AS country, CASE WHEN op <> 'd' THEN segment END AS segment
        FROM orders o ASOF LEFT JOIN spans c ON o.buyer = c.customer_id AND o.ordered_at >= c.changed_at)
    SELECT facts.*, n.name AS country_name FROM facts LEFT JOIN names n ON n.code = facts.country
    WHERE facts.country IS NOT NULL"""
CUSTOMERS = [
    ("c1", 1, "08:00", "c", "DE", "new"),
    ("c2", 2, "09:00", "c", "FR", None),
    ("c1", 4, "12:00", "u", "FR", "old"),
    ("c4", 7, "08:00", "c", "YY", None),
    ("c2", 5, "15:00", "d", None, None),
]
LATER = [("c3", 8, "08:30", "c", "XX", None), ("c1", 3, "10:00", "u", "AT", "new")]
ORDERS = [
    ("o1", "07:59", "c1"),
    ("o2", "08:00", "c1"),
    ("o3", "11:59", "c1"),
    ("o4", "12:00", "c1"),
    ("o5", "14:59", "c2"),
    ("o9", "14:00", "c4"),
    ("o6", "15:00", "c2"),
    ("o7", "09:00", "c3"),
    ("o8", "09:00", None),
]
UNKNOWN = {"o1", "o6", "o7", "o8"}


def changes(rows: list[tuple[Any, ...]]) -> list[Row]:
    names = ("customer_id", "lsn", "changed_at", "op", "country", "segment")
    return [_timed(dict(zip(names, row, strict=True)), "changed_at") for row in rows]


def orders(rows: list[tuple[Any, ...]]) -> list[Row]:
    names = ("order_id", "ordered_at", "buyer")
    each = (_timed(dict(zip(names, row, strict=True)), "ordered_at") for row in rows)
    return [row | {"amount": f"{number}.50"} for number, row in enumerate(each)]


def _timed(row: Row, name: str) -> Row:
    return row | {name: f"2026-03-01T{row[name]}:00Z"}


class Shop:
    """Both pipelines in one root, and what was sent to their topics."""

    def __init__(self, kafka: str, folder: Path) -> None:
        own = {"partitions": 1, "stores": 1}
        self.customers = Scene(kafka, folder, registry.load("customers"), **own)
        self.orders = Scene(kafka, folder, registry.load("known_orders"), **own)
        self.sent: dict[str, list[Row]] = {"changes": [], "orders": []}
        for each in (self.customers, self.orders):
            broker.create_topic(kafka, each.topic, 1)

    def send(self, to: str, rows: list[Row]) -> None:
        self.sent[to] += rows
        scene = self.customers if to == "changes" else self.orders
        scene.send(*map(json.dumps, rows))

    def expected(self, upto: int | None = None) -> list[Row]:
        """By DuckDB over both topics; of the first changes alone."""
        names = pa.table({"code": ["DE", "FR"], "name": ["Germany", "France"]})
        times = {"changes": "changed_at", "orders": "ordered_at"}
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("names", names)
            for table, time in times.items():
                rows = self.sent[table][: upto if table == "changes" else None]
                db.register("raw", pa.Table.from_pylist(rows))
                db.sql(
                    f"CREATE TABLE {table} AS SELECT * REPLACE ({time}::TIMESTAMPTZ AS {time}) FROM raw"
                )
            found: list[Row] = db.sql(JOINED).to_arrow_table().to_pylist()
        return found

    def hold(self, wanted: list[Row], what: str) -> None:
        def told(rows: list[Row]) -> list[tuple[Any, ...]]:
            return [tuple(str(row[name]) for name in sorted(row)) for row in rows]

        assert_same(told(self.orders.table()), told(wanted), what)

    @property
    def waiting(self) -> set[str]:
        rows = self.orders.ops("quarantine")
        assert {row["reason"] for row in rows} == {"no customers for buyer"}
        return {json.loads(row["value"])["order_id"] for row in rows}


def batches_of(made: Scene) -> list[Row]:
    return [row for row in made.ops("batches") if row["pipeline"] == made.spec.name]


def publish(customers: Scene, run_id: str) -> None:
    version = customers.run(run_id).table_version
    assert version is not None
    published.move(customers.paths, version, refuse_dead)


@pytest.fixture
def shop(kafka, tmp_path, monkeypatch) -> Shop:
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.examples.shop")
    return Shop(kafka, tmp_path)


def test_orders_have_the_customer_of_their_time_and_wait_for_one_that_is_unknown(
    shop, tmp_path, monkeypatch
):
    shop.send("orders", orders(ORDERS[:-1]))
    because(shop.orders.drain("early").problem, DimensionUnfit, "absent", name="customers")
    shop.send("changes", changes(CUSTOMERS))
    publish(shop.customers, "customers 1")
    shop.send("orders", orders(ORDERS[-1:]))
    lines = plan(shop.orders.spec, shop.orders.settings).lines
    beside = {line for line in lines if "beside" in line}
    assert beside == {f"{name}, read beside: version 0" for name in ("customers", "countries")}
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", (images := Images(shop.orders, tmp_path / "images")).at)
        account = (report := shop.orders.run("orders")).account
    assert (account.read, account.malformed, account.accepted) == (9, 4, 5)
    shop.hold(shop.expected(), "the facts")
    assert shop.waiting == UNKNOWN
    [batch] = [row for row in batches_of(shop.orders) if row["read"]]
    assert dict(batch["unmatched"]) == {"customers": 0, "countries": 1}
    [check] = [each for each in report.checks if each.column == "unmatched_share_countries"]
    assert (json.loads(check.observed), check.outcome) == (1 / 5, "passed")

    # Customers come later, one backdated; the account of a killed drain is read again by its pin.
    shop.send("changes", changes(LATER))
    publish(shop.customers, "customers 2")
    killed, beside = (
        over(each, images.taken["audit", 0]) for each in (shop.orders, shop.customers)
    )
    publish(beside, "customers 2")
    assert killed.run("resumed").account.malformed == 4
    assert [row["source"] for row in batches_of(killed) if row["read"]] == ["reread"]
    assert len(killed.ops("quarantine")) == 4

    shop.send("orders", orders([("o10", "15:30", "c1")]))
    shop.orders.run("corrected")
    work = Repairs(shop.orders)
    replay = work.plan("replay")
    assert replay.quarantined == (Place(0, ORDERS.index(("o7", "09:00", "c3"))),)
    staged = work.stage(replay)
    assert (staged.problem, staged.change.newly_bad) == (None, 0)
    approve(shop.orders.paths, replay.repair_id, "tester")
    work.swap(replay)
    marks = {json.loads(row["key"])["customer_id"]: row for row in shop.orders.ops("outdated")}
    assert marks.keys() == {"c1", "c3"}
    assert (marks["c1"]["start"].hour, marks["c1"]["end"].hour) == (10, 12)
    before = {row["order_id"]: row for row in shop.expected(len(CUSTOMERS))}
    after = {row["order_id"]: row for row in shop.expected()}
    assert before.keys() | {"o7"} == after.keys()
    repair = work.plan()
    assert work.stage(repair).change.unexplained == 0
    work.swap(repair)
    shop.hold([*after.values()], "the facts after replay and repair")
    assert before["o3"] != after["o3"]
    assert work.stage(work.plan("verify", *FINAL)).change.differs == 0


@pytest.mark.usefixtures("spark")
def test_the_cases_of_the_shop_give_rows_of_its_dimensions(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.examples.shop")
    session("cases", registry.load("known_orders").state)
    pipelines = ("known_orders", "order_facts", "daily_revenue")
    lines = [*prove(Prove(pipelines=pipelines), None, Settings.from_environment())]
    assert [line.split()[0] for line in lines] == ["ok"] * 6, lines
