"""Whole columns of Protobuf, held against Google's library, which reads one by one; the bytes are
protoc's.
"""

from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from hypothesis import given, settings, strategies as st

from spark_jobs.decode.formats import Decoded
from spark_jobs.decode.protobuf.decoder import SchemaReader
from spark_jobs.decode.schemed.objects import Objects
from spark_jobs.decode.schemed.registered import quick_or
from spark_jobs.schemas.schema import Schema
from spark_jobs.spec import Field
from spark_jobs.spec.fields.place import value_places
from tests.harness.schemas import protoc
from tests.unit.decoding import alike, changed_at_each_byte

SCHEMA = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  enum Status { option allow_alias = true; UNKNOWN = 0; PAID = 1; GONE = -3; ALSO = 1; }
  message Line { string sku = 1; google.protobuf.Timestamp at = 2; Line gift = 3; Status status = 4; }
  string s = 1; google.protobuf.Timestamp at = 2; Status status = 3;
  int32 i32 = 4; int64 i64 = 5; uint32 u32 = 6; uint64 u64 = 7; sint32 z32 = 8; sint64 z64 = 9;
  fixed32 f32 = 10; fixed64 f64 = 11; sfixed32 s32 = 12; sfixed64 s64 = 13;
  float f = 14; double d = 15; bool ok = 16; bytes b = 17;
  optional string os = 18; optional int32 oi = 19; optional Status oe = 20;
  google.protobuf.DoubleValue w = 21; Line line = 22;
  repeated int32 r = 23; map<string, int32> m = 24; oneof one { string x = 25; int32 y = 26; }
  repeated Line lines = 27; int32 far = 2000; int32 farther = 3000;
}
message Second { message Inner { string s = 1; } }
"""
WHOLE = ("i32", "i64", "u32", "u64", "z32", "z64", "f32", "f64", "s32", "s64")
FIELDS = [
    Field(name="s", type="string"),
    Field(name="at", type="timestamp", required=False),
    Field(name="status", type="string"),
    *(Field(name=name, type="bigint") for name in WHOLE),
    Field(name="f", type="float"),
    Field(name="d", type="double"),
    Field(name="ok", type="boolean"),
    Field(name="b", type="binary"),
    Field(name="os", type="string", required=False),
    Field(name="oi", type="int", required=False),
    Field(name="oe", type="string", required=False),
    Field(name="w", type="double", required=False),
    Field(name="sku", type="string", path="line.sku", required=False),
    Field(name="sent", type="timestamp", path="line.at", required=False),
    Field(name="far", type="smallint"),
]
FULL = """s: "o-é" at { seconds: -1 nanos: 250000999 } status: GONE i32: -7 i64: -9000000000 u32: 4000000000
u64: 9000000000000000000 z32: -70000 z64: 5 f32: 4000000000 f64: 3 s32: -3 s64: -4 f: 1.5 d: nan ok: true
b: "\\377" os: "" oi: 0 oe: PAID w { } line { sku: "k" at { seconds: 1 } status: PAID } far: 300"""
LEFT = [
    Field(name="v", type="array<int>", path="r", required=False),
    Field(name="v", type="map<string,int>", path="m", required=False),
    Field(name="v", type="string", path="x", required=False),
    Field(name="v", type="struct<sku:string>", path="line", required=False),
    Field(name="v", type="string", path="line", format="json", required=False),
    Field(name="v", type="string", path="line.gift", format="json", required=False),
    Field(name="v", type="bigint", path="at", required=False),
    Field(name="v", type="int", path="farther", required=False),
]


@pytest.fixture(scope="module")
def described(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("once")
    done = protoc(folder, SCHEMA, "--include_imports", f"--descriptor_set_out={folder}/out.desc")
    assert done.returncode == 0, done.stderr
    return (folder / "out.desc").read_bytes()


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> bytes:
    return _encoded(tmp_path_factory.mktemp("full"), FULL)


@cache
def _encoded(folder: Path, text: str) -> bytes:
    done = protoc(folder, SCHEMA, "--encode=shop.Order", given=text.encode())
    assert done.returncode == 0, done.stderr
    return done.stdout


def reader(
    described: bytes, fields: list[Field], message: str = "shop.Order", *, placed: bool = False
) -> tuple[SchemaReader, Objects]:
    objects = Objects(value_places(fields, None), [field.name for field in fields])
    schema = Schema("PROTOBUF", "", (), described)
    return SchemaReader(schema, message, objects, placed=placed), objects


def test_a_message_of_every_kind_of_field_is_read_at_once(described, full):
    by, objects = reader(described, FIELDS)
    _, which = by.at_once.columns(pa.array([full, b"", None]), 0)
    assert which.tolist() == [True, True, False]
    assert alike(by, objects, [full, b""]) == [True, True]


def test_a_message_with_any_byte_changed_is_read_alike(described, full):
    by, objects = reader(described, FIELDS)
    alike(by, objects, changed_at_each_byte(full))


# Parts of a message: what comes in another order, twice, or is unknown.
PARTS = [
    b"\x0a\x01a", b"\x0a\x01\xff", b"\x12\x00", b"\x12\x02\x08\x05", b"\x18\x01", b"\x18\x07", b"\x20\x80\x80\x80\x80\x80\x01",
    b"\x20\x05", b"\x80\x01\x01", b"\x80\x01\x02", b"\x82\x01\x00", b"\xb2\x01\x03\x0a\x01k", b"\xb2\x01\x02\x1a\x00", b"\xb2\x01\x02\x1b\x1c",
    b"\xba\x01\x02\x01\x02", b"\xca\x01\x01x", b"\xd0\x01\x05", b"\xaa\x01\x00", b"\xaa\x01\x01\x09", b"\xc0\xbb\x01\x05", b"\x80\x7d\x05", b"\xa0\x1f\x05",
    b"\x9a\x01\x00", b"\x98\x01\x80\x00", b"\x8a\x80\x00\x01a", b"\x0a\x81\x00a", b"\x00", b"\x07", b"\xa3\x01\xa4\x01", b"\xa0\x01\x7d",
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PARTS) | st.binary(max_size=3), max_size=5), max_size=30))
def test_parts_in_any_order_are_read_alike(described, given):
    by, objects = reader(described, FIELDS)
    alike(by, objects, [b"".join(parts) for parts in given])


def test_a_number_of_two_names_has_the_first_with_a_column_and_without(described):
    by, objects = reader(described, [Field(name="status", type="string")])
    assert by.at_once is not None
    read_alone = objects.columns(by.read([b"\x18\x01"], 0), 1)[0]
    for [column] in (by.at_once.columns(pa.array([b"\x18\x01"]), 0).columns, read_alone):
        assert column.to_pylist() == ["PAID"]  # as Protobuf's JSON has it


@pytest.mark.parametrize("field", LEFT, ids=lambda field: f"{field.type} {field.path}")
def test_a_field_that_has_no_column_is_left_to_the_other_decoder(described, field):
    assert reader(described, [field])[0].at_once is None


@pytest.mark.parametrize(("syntax", "at_once"), [("proto3", True), ("proto2", False)])
@pytest.mark.parametrize(
    ("known", "kind", "parts"),
    [
        ("Timestamp", "timestamp", {"seconds": 3, "nanos": 5}),
        ("Int64Value", "bigint", {"value": 3}),
    ],
)
def test_a_known_message_whose_parts_may_be_null_is_left_to_the_other_decoder(
    syntax, at_once, known, kind, parts
):
    file = FileDescriptorProto(name="a.proto", package="google.protobuf", syntax=syntax)
    own = file.message_type.add(name=known)
    for number, (name, type_) in enumerate(parts.items(), 1):
        own.field.add(name=name, number=number, label="LABEL_OPTIONAL", type=type_)  # type: ignore[arg-type]
    of_it = file.message_type.add(name="M").field.add(name="v", number=1, type="TYPE_MESSAGE")  # type: ignore[arg-type]
    of_it.label, of_it.type_name = of_it.LABEL_OPTIONAL, f".google.protobuf.{known}"
    described = FileDescriptorSet(file=[file]).SerializeToString()
    field = Field(name="v", type=kind, required=False)
    by, objects = reader(described, [field], "google.protobuf.M")
    assert (by.at_once is not None) == at_once
    if at_once:
        assert alike(by, objects, [b"", b"\x0a\0", b"\x0a\x02\x08\x05"]) == [True] * 3


def test_the_places_of_the_message_are_in_front_of_it(described, full):
    at = Field(name="s", type="string")
    for message, head in (("shop.Order", b"\0"), ("shop.Second.Inner", b"\x04\x02\x00")):
        by, objects = reader(described, [at], message, placed=True)
        value = full if message == "shop.Order" else b"\x0a\x01a"
        values = [b"head." + each + value for each in (head, b"\x02\x00", b"\x02\x04", b"")]
        _, which = by.at_once.columns(pa.array(values), 5)
        assert which.tolist() == [True, False, False, False]
        alike(by, objects, values, 5)


@pytest.mark.parametrize("number", [8, 4, 6], ids=["sint32", "int32", "uint32"])
def test_a_number_of_more_than_32_bits_is_read_whole(described, number):
    """A field that is too small for it refuses it: the other decoder says so."""
    by, objects = reader(described, FIELDS)
    value = bytes([number << 3]) + b"\x80\x80\x80\x80\x80\x02"
    name = {8: "z32", 4: "i32", 6: "u32"}[number]
    wide, wide_objects = reader(described, [Field(name=name, type="bigint")])
    columns, which = wide.at_once.columns(pa.array([value]), 0)
    assert (columns[0].to_pylist(), which.tolist()) == (
        [2**36 // (2 if number == 8 else 1)],
        [True],
    )
    assert alike(wide, wide_objects, [value]) == [True]
    assert alike(by, objects, [value]) == [True]


def test_what_is_sure_is_not_read_one_by_one(described, full):
    by, _ = reader(described, FIELDS)
    left = []

    def one_by_one(values: pa.Array) -> Decoded:
        left.extend(values.to_pylist())
        return Decoded([pa.nulls(len(values), each.type) for each in columns], ["bad"])

    columns, _ = by.at_once.columns(pa.array([full]), 0)
    found = quick_or(one_by_one, pa.array([full, b"\xff", full]), 0, by.at_once)
    assert left == [b"\xff"]
    assert found.reasons == [None, "bad", None]
