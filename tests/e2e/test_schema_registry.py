"""A real schema registry, with schemas that Confluent's client registers: asked, secured, kept."""

import json
from base64 import b64encode

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from spark_jobs.errors import RegistryRefused
from spark_jobs.schemas.kept import Kept
from spark_jobs.schemas.registry import Registry
from spark_jobs.settings.kafka.config import KafkaConfig
from tests.harness.certificates import Authority
from tests.harness.refused import fails
from tests.harness.registry import guarded

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
ORDER = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/common.proto";
message Order { string id = 1; google.protobuf.Timestamp at = 2; Money price = 3; }
"""


@pytest.fixture(scope="module")
def ids(registry_url) -> dict[str, int]:
    use = SchemaReference("x.Money", "x.Money", 1)
    imports = SchemaReference("shop/common.proto", "shop/common.proto", 1)
    with SchemaRegistryClient({"url": registry_url}) as client:
        client.register_schema("x.Money", Schema(json.dumps(INNER), "AVRO"))
        client.register_schema("shop/common.proto", Schema(COMMON, "PROTOBUF"))
        return {
            "avro": client.register_schema("sale-value", Schema(json.dumps(OUTER), "AVRO", [use])),
            "proto": client.register_schema("order-value", Schema(ORDER, "PROTOBUF", [imports])),
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
    assert proto
    assert proto.descriptor
    assert b"shop/common.proto" in proto.descriptor
    assert avro
    assert avro.kind == "AVRO"
    assert kept["99999"] is None


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
