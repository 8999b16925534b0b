"""A declared schema is held against the topic's fields before a run: what would make every record
malformed is refused, and what decodes is not.
"""

import json
from typing import Any

import pytest

from spark_jobs.decode.formats import refuse_disagreeing
from spark_jobs.decode.schemas.protoc import descriptor_set
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Avro, Compressed, Field, Local, Protobuf, Topic
from tests.harness.refused import because, fails
from tests.unit.decoding import Decoding


def schema(**types: Any) -> str:
    fields = [{"name": name, "type": kind} for name, kind in {"at": AT, **types}.items()]
    return json.dumps({"type": "record", "name": "Order", "fields": fields})


PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message User { int32 id = 1; }
enum Kind { NEW = 0; OLD = 1; }
message Order {
  int64 id = 1; string name = 2; google.protobuf.Timestamp at = 3; bool paid = 4; bytes raw = 5;
  repeated string tags = 6; map<string, double> prices = 7; User user = 8;
  google.protobuf.StringValue note = 9; Kind kind = 10; uint32 at_ms = 11;
}
"""
AT = {"type": "long", "logicalType": "timestamp-millis"}
CLOCK = Field(name="at", type="timestamp")
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
USER = {"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}


def topic(field: Field, format_: Any) -> Topic:
    return Topic(name="orders", event_time="at", fields=(CLOCK, field), format=format_)


def declared(type_: str, **more: Any) -> Field:
    return Field(name="a", type=type_, **more)


FITS = [
    ("string", "string", {}),
    (["null", "string"], "string", {}),
    ({"type": "enum", "name": "E", "symbols": ["x"]}, "string", {}),
    ("int", "bigint", {}),
    ("long", "smallint", {}),
    ("long", "double", {}),
    ("long", "timestamp", {"format": "ms"}),
    ("string", "timestamp", {}),
    ("string", "timestamp", {"format": Local(pattern="%d.%m.%Y", zone="UTC")}),
    ("string", "decimal(9,2)", {"format": "text"}),
    (MONEY, "decimal(9,2)", {}),
    ({"type": "int", "logicalType": "date"}, "date", {}),
    (USER, "struct<id:bigint>", {}),
    (USER, "string", {"format": "json"}),
    (USER, "bigint", {"path": "a.id"}),
    ({"type": "array", "items": "long"}, "array<int>", {}),
    ({"type": "array", "items": "long"}, "bigint", {"path": "a[0]"}),
    ({"type": "map", "values": "double"}, "map<string,double>", {}),
    (["null", "long", "string"], "string", {}),
    ("long", "string", {"path": "b", "required": False}),
]
UNFIT = [
    ("string", "bigint", {}, "text at a"),
    ("long", "string", {}, "whole number at a"),
    ("double", "bigint", {}, "number at a"),
    ("bytes", "decimal(9,2)", {}, "bytes at a"),
    (MONEY, "double", {}, "decimal at a"),
    (AT, "timestamp_ntz", {}, "timestamp at a"),
    (AT, "timestamp", {"format": "ms"}, "timestamp at a"),
    (["null", "long", "boolean"], "string", {}, "boolean or whole number at a"),
    (USER, "string", {}, "object at a"),
    (USER, "string", {"path": "a.id"}, "whole number at a.id"),
    (USER, "struct<id:string>", {}, "whole number at a"),
    ({"type": "array", "items": "long"}, "array<string>", {}, "whole number at a"),
    ({"type": "map", "values": "double"}, "map<string,string>", {}, "number at a"),
    ("long", "bigint", {"path": "b"}, "nothing at b"),
    ("long", "string", {"path": "a", "required": False}, "whole number at a"),
]


@pytest.mark.parametrize(("avro", "type_", "more"), FITS)
def test_a_field_that_avros_type_can_be_is_prepared(avro, type_, more):
    Decoding(topic(declared(type_, **more), Avro(reader=schema(a=avro))))


@pytest.mark.parametrize(("avro", "type_", "more", "said"), UNFIT)
def test_a_field_that_avros_type_cannot_be_is_refused_with_what_is_there(avro, type_, more, said):
    for format_ in (
        Avro(reader=schema(a=avro)),
        Avro(registry="main", reader=schema(a=avro)),
        Compressed(by="gzip", format=Avro(writer=schema(a=avro))),
    ):
        with pytest.raises(SpecInvalid) as raised:
            refuse_disagreeing(topic(declared(type_, **more), format_))
        why, where = said.split(" at ")
        reason, told = (
            ("schema_disagrees", {"why": why}) if why != "nothing" else ("schema_lacks", {})
        )
        because(raised.value, SpecInvalid, reason, field="a", where=where, **told)


def test_what_only_a_registry_knows_is_not_judged():
    refuse_disagreeing(topic(declared("string"), Avro(registry="main")))
    refuse_disagreeing(topic(declared("string"), Protobuf(registry="main")))


def test_a_protobuf_message_is_held_against_the_fields_too():
    descriptor = descriptor_set(PROTO)
    proto = Protobuf(message="shop.Order", descriptor=descriptor)
    fits = {
        "id": "bigint", "name": "string", "at": "timestamp", "paid": "boolean", "raw": "binary",
        "tags": "array<string>", "prices": "map<string,double>", "user": "struct<id:int>",
        "note": "string", "kind": "string", "at_ms": "int",
    }  # fmt: skip
    for name, kind in fits.items():
        if name != "at":
            refuse_disagreeing(topic(Field(name=name, type=kind), proto))
    for name, kind in (("id", "string"), ("user", "struct<id:string>"), ("prices", "array<int>")):
        with pytest.raises(SpecInvalid) as raised:
            refuse_disagreeing(topic(Field(name=name, type=kind), proto))
        assert raised.value.reason == "schema_disagrees"
    with fails(SpecInvalid, "schema_lacks"):
        refuse_disagreeing(topic(Field(name="nothing", type="int"), proto))
