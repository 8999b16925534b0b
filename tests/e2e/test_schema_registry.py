"""A real schema registry, with schemas that Confluent's client registers: asked, secured, kept."""

import json
from base64 import b64encode
from decimal import Decimal

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from spark_jobs.decode.schemas import schema as schemas
from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.draft.drafted import draft
from spark_jobs.draft.registered_topic import keep_schemas
from spark_jobs.errors import RegistryRefused
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.spec import Avro
from tests.harness.certificates import Authority
from tests.harness.refused import fails
from tests.harness.registry import guarded
from tests.unit.test_new import sampled
from tests.unit.test_new_formats import NOON, SCHEMA

INNER = {
    "type": "record",
    "name": "Money",
    "namespace": "x",
    "fields": [{"name": "n", "type": "int"}],
}
OUTER = {
    "type": "record",
    "name": "Sale",
    "namespace": "x",
    "fields": [{"name": "price", "type": "x.Money"}, {"name": "tax", "type": "x.Money"}],
}
COMMON = 'syntax = "proto3";\npackage shop;\nmessage Money { int64 cents = 1; }\n'
ORDER_PROTO = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/common.proto";
message Order { string id = 1; google.protobuf.Timestamp at = 2; Money price = 3; }
"""

ORDER = {"placedAt": NOON, "amount": Decimal("12.50"), "ship": None, "tags": [], "more": {}}


@pytest.fixture(scope="module")
def ids(registry_url) -> dict[str, int]:
    use = SchemaReference("x.Money", "x.Money", 1)
    imports = SchemaReference("shop/common.proto", "shop/common.proto", 1)
    with SchemaRegistryClient({"url": registry_url}) as client:
        client.register_schema("x.Money", Schema(json.dumps(INNER), "AVRO"))
        client.register_schema("shop/common.proto", Schema(COMMON, "PROTOBUF"))
        return {
            "avro": client.register_schema("sale-value", Schema(json.dumps(OUTER), "AVRO", [use])),
            "proto": client.register_schema(
                "order-value", Schema(ORDER_PROTO, "PROTOBUF", [imports])
            ),
        }


def test_a_schema_comes_with_those_that_it_uses(registry_url, ids):
    registry = Registry({"url": registry_url})
    found = registry.schema(ids["avro"])
    assert found
    assert (found.kind, json.loads(found.text)) == ("AVRO", OUTER)
    assert [(name, json.loads(text)) for name, text in found.references] == [("x.Money", INNER)]
    assert registry.schema(2**31 - 1) is None


def test_what_is_kept_is_whole_without_the_registry(registry_url, ids, tmp_path):
    numbers = {name: str(number) for name, number in ids.items()}
    had = Kept(str(tmp_path), "main").fetch(
        [*numbers.values(), "99999"], lambda: Registry({"url": registry_url})
    )
    assert had == {numbers["avro"]: True, numbers["proto"]: True, "99999": False}
    kept = Kept(str(tmp_path), "main").schemas()
    proto, avro = kept[numbers["proto"]], kept[numbers["avro"]]
    assert isinstance(proto, schemas.Schema)
    assert proto.descriptor
    assert b"shop/common.proto" in proto.descriptor
    assert isinstance(avro, schemas.Schema)
    assert avro.kind == "AVRO"
    assert kept["99999"] == "the registry has no schema 99999"


def test_new_drafts_a_topic_by_the_schema_that_confluents_client_has_registered(
    registry_url, tmp_path
):
    with SchemaRegistryClient({"url": registry_url}) as client:
        write = AvroSerializer(client, json.dumps(SCHEMA))
        of = SerializationContext("drafted", MessageField.VALUE)
        values = [write({**ORDER, "orderId": f"o-{n}"}, of) for n in range(60)]
    declared = KafkaConfig.of({"schema.registry.url": registry_url}, "a test")
    settings = Settings("/root", "b:2", tmp_path, "x", "1g", kafka_config=declared)
    keep_schemas(sampled(values), settings, str(tmp_path))
    made = draft("orders", "drafted", sampled(values), str(tmp_path))
    assert made.spec.topic.format == Avro(registry="main")
    assert (made.spec.topic.event_time, made.spec.steps[0].keys) == ("placed_at", ("order_id",))
    assert [row["amount"] for row in made.tried.rows] == [ORDER["amount"]] * 60


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_a_login_and_tls_are_as_declared(login, registry_url, ids, tmp_path):
    authority = Authority("registry")
    _, _, store = authority.pair("server", hosts=("127.0.0.1",)).write(tmp_path, "registry")
    (tmp_path / "ca.crt").write_text(authority.certificate)
    name, value, header = {
        "basic": ("basic.auth.user.info", "reader:s3", f"Basic {b64encode(b'reader:s3').decode()}"),
        "bearer": ("bearer.auth.token", "t0ken", "Bearer t0ken"),
    }[login]
    with guarded(registry_url, header, store) as url:
        declared = {
            "schema.registry.url": url,
            "schema.registry.ssl.ca.location": str(tmp_path / "ca.crt"),
        }
        right = KafkaConfig.of({**declared, f"schema.registry.{name}": value}, "a test")
        assert Registry(right.registry()).schema(ids["avro"])
        without = KafkaConfig.of(declared, "a test")
        with fails(RegistryRefused, "client_refused", status=401):
            Registry(without.registry()).schema(ids["avro"])
        nobodys = KafkaConfig.of({"schema.registry.url": url}, "a test")
        with fails(RegistryRefused, "tls_refused"):
            Registry(nobodys.registry()).schema(ids["avro"])
