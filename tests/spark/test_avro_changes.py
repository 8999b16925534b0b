"""Debezium's changes in Avro, by a real registry and Confluent's serializer: the table that follows
them is DuckDB's, and a snapshot that is made again changes nothing newer.
"""

import json
import random
from decimal import Decimal

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from local.broker import create_topic
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.spec import Avro
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_latest import ORDERS, SPEC, Shop

pytestmark = alike("a table that follows a key")


def maybe(name, kind):
    return {"name": name, "type": ["null", kind], "default": None}


AMOUNT = {
    "type": "bytes",
    "logicalType": "decimal",
    "precision": 10,
    "scale": 2,
    "connect.name": "org.apache.kafka.connect.data.Decimal",
}
VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        maybe("status", "string"),
        maybe("amount", AMOUNT),
        maybe("tags", {"type": "map", "values": "string"}),
    ],
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.postgresql",
    "fields": [
        {"name": "connector", "type": "string"},
        {"name": "table", "type": "string"},
        maybe("lsn", "long"),
    ],
}
ENVELOPE = json.dumps(
    {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.public.orders",
        "fields": [
            maybe("before", VALUE),
            maybe("after", "Value"),
            {"name": "source", "type": SOURCE},
            {"name": "op", "type": "string"},
            maybe("ts_ms", "long"),
        ],
        "connect.name": "shop.public.orders.Envelope",
    }
)


@pytest.fixture
def shop(kafka, registry_url, tmp_path):
    topic = ORDERS.model_copy(update={"format": Avro(registry="main")})
    spec = SPEC.model_copy(update={"topic": topic})
    made = Scene(kafka, tmp_path, spec, partitions=2, checked=True)
    config = KafkaConfig.of(
        {"bootstrap.servers": kafka, "schema.registry.url": registry_url}, "a test"
    )
    made.settings = made.settings._replace(kafka_config=config)
    create_topic(kafka, made.topic, 2)
    with SchemaRegistryClient({"url": registry_url}) as client:
        serializer = AvroSerializer(client, ENVELOPE)
        context = SerializationContext(made.topic, MessageField.VALUE)

        def encode(change):
            after = change["after"]
            if after:
                after = after | {"amount": Decimal(str(after["amount"])).quantize(Decimal("0.01"))}
            return serializer({**change, "after": after}, context)

        yield Shop(made, [], random.Random(41), encode)


def test_the_table_is_duckdbs_and_a_snapshot_made_again_changes_nothing_newer(shop):
    changes = shop.changes(1, 300)
    for number, part in enumerate(shop.disordered(changes)[:2]):
        shop.send(part)
        shop.made.run(f"{number}")
        shop.assert_exact()
    shop.send(changes)
    report = shop.made.run("all of them")
    shop.assert_exact()
    assert report.account.filtered > 0, "the tombstones"
    before = {row["order_id"]: row for row in shop.newest()}
    snapshot = shop.snapshot(150, changes)
    shop.send(snapshot)
    report = shop.made.run("the snapshot")
    shop.assert_exact()
    older = [row for row in snapshot if before[row["after"]["id"]]["lsn"] > 150]
    assert report.account.superseded == len(older) > 0
    assert report.account.updated == len(snapshot) - len(older) > 0
    assert report.account.malformed == report.account.deleted == report.account.inserted == 0
