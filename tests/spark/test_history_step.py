"""A History and a Latest that follow one topic: late changes, copies, deletes and kills make no
difference to DuckDB's tables over all changes.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from local import broker
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.sink.keyed import driver
from spark_jobs.spec import Field, History, Latest, Layout, Pipeline, Topic, Transform
from spark_jobs.spec.steps.history import SPAN
from spark_jobs.steps.keyed import buckets
from spark_jobs.storage import failpoint
from spark_jobs.table.published import table as published
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = alike("a table that follows a key")

KEYS, CHANGES, DELIVERIES = 30, 450, 3
START = datetime(2026, 1, 1, tzinfo=UTC)
TOPIC = Topic(
    name="orders",
    event_time="at",
    fields=(
        Field(name="order_id", type="string"),
        Field(name="lsn", type="bigint"),
        Field(name="at", type="timestamp"),
        Field(name="op", type="string"),
        Field(name="status", type="string", required=False),
    ),
)
FOLLOWS: dict[str, Any] = {"keys": ("order_id",), "order_by": ("lsn",), "deletes": "op = 'd'"}
OF_ALL = """
    WITH places AS (
        SELECT * FROM sent QUALIFY row_number() OVER (
            PARTITION BY order_id, lsn ORDER BY "offset" DESC, "partition" DESC) = 1),
    begun AS (
        SELECT *, max("at") OVER (PARTITION BY order_id ORDER BY lsn) AS valid_from FROM places),
    spans AS (
        SELECT *, lead(valid_from) OVER chain AS valid_to, lead(lsn) OVER chain IS NULL AS last
        FROM begun WINDOW chain AS (PARTITION BY order_id ORDER BY lsn))
    SELECT order_id, lsn, "at", op, status, valid_from, valid_to, last AS current
    FROM spans WHERE op != 'd' ORDER BY order_id, lsn
"""
Row = dict[str, Any]


def spec(step: History | Latest) -> Pipeline:
    return Pipeline(
        name=f"orders_{step.kind}", about="Orders by their changes.", topic=TOPIC, steps=(step,)
    )


def made_changes(seed: int) -> list[list[Row]]:
    """Deliveries: out of order, some a delivery late, some twice; two at one lsn may differ."""
    of = random.Random(seed)
    deliveries: list[list[Row]] = [[] for _ in range(DELIVERIES)]
    for number in range(CHANGES):
        op = of.choice("uuuuud")
        change = {
            "order_id": f"o{of.randrange(KEYS)}",
            "lsn": number // 2 if of.random() < 0.1 else number,
            "at": (START + timedelta(seconds=number + of.choice([0, 0, 0, 90]))).isoformat(),
            "op": op,
            "status": None if op == "d" else f"s{of.randrange(4)}",
        }
        first = number * DELIVERIES // CHANGES
        deliveries[min(first + (of.random() < 0.2), DELIVERIES - 1)].append(change)
        if of.random() < 0.1:
            deliveries[of.randrange(first, DELIVERIES)].append(change)
    for each in deliveries:
        of.shuffle(each)
    return deliveries


class Orders:
    """A topic of changes, and what was sent."""

    def __init__(self, kafka: str, folder: Path, seed: int) -> None:
        self.scene = Scene(kafka, folder, spec(History(**FOLLOWS, valid_from="at")), partitions=2)
        broker.create_topic(kafka, self.scene.topic, 2)
        self.sent: list[Row] = []
        self._waiting = iter(made_changes(seed))
        self._of = random.Random(seed)

    def deliver(self) -> int:
        """Send the next delivery."""
        producer = Producer({"bootstrap.servers": self.scene.kafka})
        changes = next(self._waiting)

        def note(change: Row) -> Callable[..., None]:
            def sent(_: object, message: Any) -> None:
                where = {"partition": message.partition(), "offset": message.offset()}
                self.sent.append(change | where)

            return sent

        for change in changes:
            producer.produce(
                self.scene.topic,
                json.dumps(change),
                partition=self._of.randrange(2),
                on_delivery=note(change),
            )
        producer.flush()
        return len(changes)

    def expected(self) -> list[Row]:
        """The history of all that was sent."""
        rows = [row | {"at": datetime.fromisoformat(row["at"])} for row in self.sent]
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("sent", pa.Table.from_pylist(rows))
            found: list[Row] = db.sql(OF_ALL).to_arrow_table().to_pylist()
        return found


@pytest.fixture
def orders(kafka, tmp_path) -> Orders:
    return Orders(kafka, tmp_path, seed=4)


def shown(spark: SparkSession, scene: Scene, version: int | None) -> list[Row]:
    """What a consumer reads."""
    assert version is not None
    published.move(scene.paths, version, refuse_dead)
    rows = spark.read.format("delta").load(str(scene.paths.published_table))
    found: list[Row] = rows.orderBy("order_id", "lsn").toArrow().to_pylist()
    return found


def test_both_tables_of_one_topic_are_those_of_all_its_changes(
    spark, orders, tmp_path, monkeypatch
):
    """The second drain of the history is killed where its commit is in the table alone."""
    scene = orders.scene
    latest = over(scene, Path(scene.settings.root), spec(Latest(**FOLLOWS)))
    for number in range(DELIVERIES):
        changes = orders.deliver()
        if number == 1:
            images = Images(scene, tmp_path / "images")
            with monkeypatch.context() as once:
                once.setattr(failpoint, "at", images.at)
                scene.run("killed")
            scene = over(scene, images.taken["table.committed", number])
        report = scene.run(f"run {number}")
        expected = orders.expected()
        assert shown(spark, scene, report.table_version) == expected
        account = report.account
        fates = account.inserted + account.updated + account.deleted + account.absent
        assert fates + account.superseded + (account.duplicates or 0) == account.accepted == changes
        present = [
            {name: value for name, value in row.items() if name not in SPAN}
            for row in expected
            if row["current"]
        ]
        assert shown(spark, latest, latest.run(f"latest {number}").table_version) == present


@pytest.mark.parametrize(
    ("few", "parted"),
    [(0, False), (0, True), (10**6, True)],
    ids=["in Spark", "in Spark, in folders", "in the driver, in folders"],
)
def test_a_history_is_the_same_whoever_makes_its_chains(spark, orders, monkeypatch, few, parted):
    if parted:  # a key's versions are in several, and those of a delete in none of their own
        part = Transform(sql="SELECT *, CAST(substr(status, 2) AS INT) AS part FROM rows")
        steps = (part, *orders.scene.spec.steps)
        orders.scene.change(steps=steps, layout=Layout(partition_by=("part",)))
    monkeypatch.setattr(driver, "MOST_BYTES", few)
    monkeypatch.setattr(buckets, "IN_A_BUCKET", 50)
    for number in range(2):
        orders.deliver()
        report = orders.scene.run(f"run {number}")
        found = shown(spark, orders.scene, report.table_version)
        if parted:
            assert all(row.pop("part") == int(row["status"][1:]) for row in found)
        assert found == orders.expected()
