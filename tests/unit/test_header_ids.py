"""Ids of schemas in headers, as Confluent's own serializers write them (header_schema_id_serializer of
confluent-kafka, with its registry in memory).
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, strategies as st
from upath import UPath

from spark_jobs.decode.record_decoder import Prepared, prepare
from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.decode.schemed.registered import NO_HEAD, NO_ID
from spark_jobs.errors import SpecInvalid
from spark_jobs.ops import ops_tables
from spark_jobs.runs.schema_look import ask_again
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.spec import Avro, Field, Json, Protobuf, Topic, Transform
from tests.harness.refused import fails
from tests.harness.schemas import protoc
from tests.unit.decoding import Header, records
from tests.unit.specs import pipeline
from tests.unit.test_schema_registry import Answer, answering

AT = datetime(2026, 3, 1, 10, tzinfo=UTC)
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}
PROTO = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Other { string id = 1; message Order { string id = 1; google.protobuf.Timestamp at = 2; } }
"""
FIELDS = (Field(name="id", type="string"), Field(name="at", type="timestamp"))


class Made(NamedTuple):
    """A record of a client, its key and what the registry's id is."""

    value: bytes
    headers: list[Header]

    @property
    def guid(self) -> str:
        raw = self.headers[0][1]
        assert raw
        return raw[1:17].hex()


@pytest.fixture
def client() -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient.new_client({"url": "mock://here"}) as made:
        yield made


CONF = {"schema.id.serializer": header_schema_id_serializer}


def by_avro(client: SchemaRegistryClient, part: str = "value", schema: Any = ORDER) -> Made:
    context = SerializationContext("orders", getattr(MessageField, part.upper()), [])
    write = AvroSerializer(client, json.dumps(schema), conf=CONF)
    return Made(bytes(write({"id": "o1", "at": AT}, context)), context.headers)


def by_protobuf(client: SchemaRegistryClient, folder: Path) -> Made:
    done = protoc(folder, PROTO, "--include_imports", f"--descriptor_set_out={folder}/d")
    assert done.returncode == 0, done.stderr
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString((folder / "d").read_bytes()).file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("Other.Order"))
    message = kind(id="o1")
    message.at.FromDatetime(AT)
    context = SerializationContext("orders", MessageField.VALUE, [])
    write = ProtobufSerializer(kind, client, CONF | {"use.deprecated.format": False})
    return Made(bytes(write(message, context)), context.headers)


def by_guid(client: SchemaRegistryClient) -> Callable[[str], Answer]:
    """What a registry answers that finds schemas by their GUIDs alone."""

    def answer(path: str) -> Answer:
        try:
            found = client.get_schema_by_guid(path.rsplit("/", 1)[1])
        except SchemaRegistryError:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, {"schema": found.schema_str, "schemaType": found.schema_type}

    return answer


def fetched(client: SchemaRegistryClient, root: Path, *guids: str):
    """Keep these schemas, as a run does that has seen them in headers."""

    with answering(by_guid(client)) as url:
        had = Kept(str(root), "main").fetch(guids, lambda: Registry({"url": url}))
    assert all(had.values())


def dashed(guid: str) -> str:
    parts = (guid[:8], guid[8:12], guid[12:16], guid[16:20], guid[20:])
    return "-".join(parts)


def prepared(root: Path, **changes: Any) -> Prepared:
    usual: dict[str, Any] = {
        "format": Avro(registry="main", id_in="header"),
        "fields": FIELDS,
        "name": "orders",
        "event_time": "at",
    }
    return prepare(Topic(**usual | changes), str(root), None)


def decoded(by: Prepared, value: bytes | None, headers: list[Header]) -> tuple[Any, str | None]:
    columns, [why] = by.decoder().decode(records([value], headers=[headers]))
    return tuple(column.to_pylist()[0] for column in columns), why


def test_avro_is_read_by_the_guid_in_its_header(client, tmp_path):
    made = by_avro(client)
    fetched(client, tmp_path, dashed(made.guid))
    assert decoded(prepared(tmp_path), *made) == (("o1", AT), None)


def test_protobuf_is_read_by_the_guid_and_the_places_of_its_message_in_its_header(client, tmp_path):
    made = by_protobuf(client, tmp_path)
    fetched(client, tmp_path, dashed(made.guid))
    for message in ("Other.Order", ""):
        by = prepared(tmp_path, format=Protobuf(registry="main", message=message, id_in="header"))
        assert decoded(by, *made) == (("o1", AT), None)
    other = Protobuf(registry="main", message="Other", id_in="header")
    _, why = decoded(prepared(tmp_path, format=other), *made)
    assert str(why).startswith("its message is Other.Order, not Other")


def test_a_key_is_read_by_a_header_of_its_own(client, tmp_path):
    made = by_avro(client, "key")
    fetched(client, tmp_path, dashed(made.guid))
    fields = (
        Field(name="id", type="string", part="key"),
        Field(name="at", type="timestamp", part="timestamp"),
    )
    of_keys = {"key": Avro(registry="main", id_in="header"), "fields": fields, "format": Json()}
    given_ = records([b"{}"], [made.value], headers=[made.headers])
    columns, reasons = prepared(tmp_path, **of_keys).decoder().decode(given_)
    assert (columns[0].to_pylist(), reasons) == (["o1"], [None])
    assert made.headers[0][0] == "__key_schema_id"


def test_ids_in_values_go_on_beside_those_in_headers(client, tmp_path):
    made = by_avro(client)
    fetched(client, tmp_path, dashed(made.guid))
    _, why = decoded(prepared(tmp_path), b"\0\0\0\0\x09" + made.value, [])
    assert why == "schema 9 is not kept here"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda id_: id_[:16], NO_ID),
        (lambda id_: id_ + b"\0", NO_ID),
        (lambda id_: b"\2" + id_[1:], NO_ID),
        (lambda _: b"", NO_ID),
        (lambda _: None, NO_HEAD),
        (lambda id_: id_[:1] + bytes(16), "schema 00000000-0000-0000-0000-000000000000 is not kept"),
        (lambda _: b"\0\0\0\0\x09", "schema 9 is not kept here"),
    ],
)  # fmt: skip
def test_a_header_that_has_no_known_id_makes_its_record_malformed(client, tmp_path, change, said):
    made = by_avro(client)
    fetched(client, tmp_path, dashed(made.guid))
    name, id_ = made.headers[0]
    found, why = decoded(prepared(tmp_path), made.value, [(name, change(id_))])
    assert found == (None, None)
    assert str(why).startswith(said)


def test_a_tombstone_with_a_header_is_one(client, tmp_path):
    made = by_avro(client)
    fetched(client, tmp_path, dashed(made.guid))
    assert decoded(prepared(tmp_path), None, made.headers)[1] == "tombstone: the value is null"


def test_headers_are_not_looked_at_unless_it_is_declared(client, tmp_path):
    made = by_avro(client)
    by = prepared(tmp_path, format=Avro(registry="main"))
    assert not by.topic.reads_headers
    assert prepared(tmp_path).topic.reads_headers
    assert decoded(by, *made)[1] == NO_HEAD


def test_an_id_in_a_header_needs_a_registry():
    with fails(SpecInvalid, "fields_refused", fields="id_in"):
        Avro(reader=json.dumps(ORDER), id_in="header")


def test_a_guid_that_a_registry_cannot_look_up_makes_its_records_malformed(tmp_path):
    guid = dashed("0" * 32)

    def answer(_: str) -> Answer:
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    kept = Kept(str(tmp_path), "main")
    with answering(answer) as url:
        assert kept.fetch([guid], lambda: Registry({"url": url})) == {guid: False}
    made = prepared(tmp_path), b"\0", [("__value_schema_id", b"\1" + b"\0" * 16)]
    found, why = decoded(*made)
    assert (found, why) == ((None, None), kept.schemas()[guid])
    assert "GUID" in why


@given(st.none() | st.binary(max_size=20), st.none() | st.binary(max_size=20))
def test_no_header_and_no_value_make_it_raise(value, header):
    found, why = decoded(prepared(Path("/nowhere")), value, [("__value_schema_id", header)])
    assert (found, bool(why)) == ((None, None), True)


def test_replays_ask_for_each_id_of_a_key_or_a_value_for_which_no_run_asked(tmp_path, monkeypatch):
    """As many at a time as a run asks for; none for what another pipeline lacks."""
    monkeypatch.setattr("spark_jobs.runs.schema_look.MOST_IDS", 1)
    root, avro = UPath(tmp_path), Avro(registry="main")
    at = Field(name="at", type="timestamp", part="timestamp")
    key = Field(name="id", type="string", part="key")
    whole = Field(name="n", type="bigint")
    by_key = Topic(name="k", key=avro, fields=(at, key, whole), event_time="at")
    by_value = Topic(name="v", format=avro, fields=(at, FIELDS[0]), event_time="at")
    reasons = []
    for topic, some in (
        (by_key, records([b'{"n": 1}'], keys=[b"\0\0\0\0\7"])),
        (by_value, records([b"\0\0\0\0\x09"])),
        (by_value, records([b"\0\0\0\0\x0a"])),
    ):
        reasons += prepare(topic, str(root), None).decoder().decode(some).reasons
    of_step = Transform(where="true")
    spec = pipeline(topic=by_key, steps=(of_step,), watermark_delay=None, output_checks=())
    owners = (spec.name, spec.name, "another")
    rows = [{"pipeline": name, "reason": why} for name, why in zip(owners, reasons, strict=True)]
    ops_tables.append(root, "quarantine", [*rows, rows[2]])
    Kept(str(root), "main").note_others()

    asked = list[str]()

    def answer(path: str) -> Answer:
        asked.append(path.rpartition("/")[2])
        return 200, {"schema": json.dumps(ORDER)}

    with answering(answer) as url:
        config = KafkaConfig.of({"schema.registry.url": url}, "a test")
        settings = Settings(str(root), "", tmp_path, "", "", kafka_config=config)
        for _ in range(3):
            ask_again(spec, settings, root)
    assert sorted(asked) == ["7", "9"]
    assert {*Kept(str(root), "main").schemas()} == {"7", "9"}
