"""Tables that follow a key, of values with many records: the last element decides between equal
times of one value. A topic's archive keeps the values, and serves when Kafka has none.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer

from local import broker
from spark_jobs.repair.manifest import approve
from spark_jobs.sink.keyed import driver
from spark_jobs.source.topic_state import topic_state
from spark_jobs.spec import Archive, Field, History, Latest, Pipeline, Topic
from spark_jobs.storage import failpoint
from tests.harness.compare import assert_same
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_archive import Archived, empty
from tests.spark.test_keyed_repair import Orders
from tests.spark.told import fates

pytestmark = alike("a repair by key")

START = datetime(2025, 11, 25, tzinfo=UTC)
FIELDS = (
    Field(name="device", type="string", path="id"),
    Field(name="at", type="timestamp", format="ms"),
    Field(name="watts", type="bigint", required=False, at_most=999),
    Field(name="gone", type="boolean", required=False),
    Field(name="gateway", type="string", up=1),
)
TOPIC = Topic(name="readings", event_time="at", fields=FIELDS, each="readings[]",
              archive=Archive(keep=None))  # fmt: skip
FOLLOWS = {"keys": ("device",), "order_by": ("at",), "deletes": "gone"}
ELEMENTS = """
WITH elements AS (
    SELECT n AS "offset", v->>'$.gateway' AS gateway, e.element AS element, e.e->>'$.id' AS device,
        make_timestamp((e.e->>'$.at')::BIGINT * 1000) AS "at", (e.e->>'$.watts')::BIGINT AS watts,
        coalesce((e.e->>'$.gone')::BOOLEAN, false) AS gone
    FROM given, LATERAL (
        SELECT unnest(v->'$.readings[*]') AS e, generate_subscripts(v->'$.readings[*]', 1) AS element
    ) e
),
sent AS (SELECT * FROM elements WHERE watts IS NULL OR watts <= ?),
"""
AT_ITS_TIME = """places AS (SELECT * FROM sent QUALIFY row_number() OVER (
    PARTITION BY device, "at" ORDER BY "offset" DESC, element DESC) = 1)
"""
NEWEST = """SELECT device, "at", watts, gateway FROM (
    SELECT * FROM places QUALIFY row_number() OVER (PARTITION BY device ORDER BY "at" DESC) = 1
) WHERE NOT gone
"""
SPANS = """SELECT device, "at", watts, gateway, valid_to IS NULL AS current, valid_to FROM (
    SELECT *, lead("at") OVER (PARTITION BY device ORDER BY "at") AS valid_to FROM places
) WHERE NOT gone
"""
KEPT = """lives AS (
    SELECT *, sum(CASE WHEN gone THEN 1 ELSE 0 END) OVER way AS life FROM sent
    WINDOW way AS (PARTITION BY device ORDER BY "at", "offset", element)
)
SELECT device, max("at") AS "at", arg_max(watts, ("at", "offset", element)) AS watts,
    arg_max(gateway, ("at", "offset", element)) AS gateway
FROM lives WHERE NOT gone
    AND life = (SELECT max(life) FROM lives AS all_ WHERE all_.device = lives.device)
GROUP BY device, life
"""
STEPS = {
    "latest": (Latest(**FOLLOWS), AT_ITS_TIME + NEWEST),
    "history": (History(**FOLLOWS, valid_from="at"), AT_ITS_TIME + SPANS),
    "keeps": (Latest(**FOLLOWS, missing="keep"), KEPT),
}


class Readings(Orders):
    """A topic of such values, and what was sent."""

    def __init__(self, kafka, folder, step, sql) -> None:
        spec = Pipeline(name="devices", about="Devices.", topic=TOPIC, steps=(step,))
        self.scene, self.sql = Scene(kafka, folder, spec, partitions=1), sql
        broker.create_topic(kafka, self.scene.topic, 1)
        self.producer = Producer({"bootstrap.servers": kafka})
        self.values: list[str] = []
        self.chance = Random(7)

    def element(self) -> dict[str, Any]:
        """Few devices and times, so that many are equal."""
        chance = self.chance
        at = START + timedelta(minutes=chance.randrange(6))
        watts = None if chance.random() < 0.2 else chance.choice([1, 2, 3, 3, 2_000])
        own = {"id": f"d{chance.randrange(8)}", "at": round(at.timestamp() * 1000), "watts": watts}
        return own | ({"gone": True} if chance.random() < 0.1 else {})

    def send_values(self, many: int) -> None:
        for _ in range(many):
            some = [self.element() for _ in range(self.chance.randrange(7))]
            self.send_value(some + (some[:2] if self.chance.random() < 0.3 else []))
        self.producer.flush()

    def send_value(self, readings: list[dict[str, Any]]) -> None:
        of = {"gateway": f"g{self.chance.randrange(3)}", "readings": readings}
        self.values.append(json.dumps(of))
        self.producer.produce(self.scene.topic, self.values[-1], partition=0)

    def wanted(self, most: int) -> list[dict[str, Any]]:
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.execute("CREATE TABLE given AS SELECT unnest(?)::JSON AS v", [self.values])
            db.execute("CREATE OR REPLACE TABLE given AS SELECT v, rowid AS n FROM given")
            return db.execute(ELEMENTS + self.sql, [most]).to_arrow_table().to_pylist()

    def assert_as_duckdb(self, most: int) -> None:
        wanted = self.wanted(most)
        assert wanted
        live = (row for row in self.scene.table() if not row["_sluice_deleted"])
        found = [{name: _plain(row[name]) for name in wanted[0]} for row in live]
        assert_same(found, wanted, "the table")


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.mark.parametrize("name", STEPS)
def test_the_table_is_duckdbs_over_elements_killed_replayed_and_verified_from_the_archive(
    kafka, tmp_path, monkeypatch, name
):
    made = Readings(kafka, tmp_path, *STEPS[name])
    made.send_values(30)
    with monkeypatch.context() as cut:
        cut.setitem(failpoint.ACTIVE, "table.committed", "raise")
        with suppress(failpoint.Failure):
            made.scene.drain("killed")
    made.scene.run("first")
    made.assert_as_duckdb(999)
    at = round((START + timedelta(hours=1)).timestamp() * 1000)
    both = [{"id": "last is bad", "at": at, "watts": watts} for watts in (1, 2_000)]
    made.send_value([*both, *({**each, "id": "first is bad"} for each in reversed(both))])
    made.send_values(19)
    with monkeypatch.context() as by_spark:
        by_spark.setattr(driver, "MOST_CHANGES", 0)
        made.scene.run("second")
    made.assert_as_duckdb(999)

    for row in made.scene.ops("batches"):
        assert row["elements"] == row["malformed"] + row["accepted"]
        assert row["read"] == row["with_elements"] + row["empty"]
    rows = {(row["_sluice_offset"], row["_sluice_element"]): row for row in made.scene.table()}
    told = fates(made.scene.spec, made.scene.settings, [(0, n) for n in range(45, 50)])
    assert {at for at, each in told.items() if each.rows} <= {(0, *at) for at in rows}
    assert any(each.rows for each in told.values())

    fields = tuple(f.model_copy(update={"at_most": None}) for f in FIELDS)
    loose = made.scene.spec.topic.model_copy(update={"fields": fields})
    made.scene.change(topic=loose)
    repair_id, report = made.repair(kind="replay")
    assert report.problem is None, report.problem
    approve(made.scene.paths, repair_id, "test")
    made.swap(repair_id)
    made.assert_as_duckdb(10_000)
    bad = len(made.scene.ops("quarantine"))
    assert len(made.scene.ops("merged")) == bad > 0

    archive = Archived(made.scene)
    archive.run("archive")
    assert [row["value"].decode() for row in archive.rows()] == made.values
    assert all(row["event_time"] == row["kafka_timestamp"] for row in archive.rows())
    empty(made.scene)
    assert topic_state(made.scene.settings, made.scene.topic).earliest.by_partition == {0: 50}
    report = made.verify()
    assert (report.status, report.change.unexplained) == ("succeeded", 0), report.problem
