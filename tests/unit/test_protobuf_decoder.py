"""The Protobuf decoder, held against protoc, whose C++ is another implementation than Python's."""

import struct
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import HealthCheck, given, settings, strategies as st

from spark_jobs.decode.record_decoder import RecordDecoder, prepare
from spark_jobs.decode.schemas.registry import Registered
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Field, Protobuf, Topic
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.harness.schemas import framed, keep, protoc
from tests.unit.decoding import records

SCHEMA = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
message Other { string x = 1; message Deep { string id = 1; google.protobuf.Timestamp at = 2; } }
message Order {
  enum Status { option allow_alias = true; UNKNOWN = 0; PAID = 1; ALSO = 1; }
  message Line { string sku = 1; int32 n = 2; Line gift = 3; }
  string id = 1;
  google.protobuf.Timestamp at = 2;
  Status status = 3;
  int64 customer = 4;
  optional string coupon = 5;
  google.protobuf.DoubleValue weight = 6;
  repeated Line lines = 7;
  map<string, int32> tags = 8;
  bytes raw = 9;
  uint64 large = 10;
  oneof how { string card = 11; int64 cash = 12; }
  google.protobuf.Struct more = 13;
  double amount = 14;
  bool ok = 15;
}
"""
FIELDS = (
    Field(name="id", type="string"),
    Field(name="at", type="timestamp"),
    Field(name="status", type="string"),
    Field(name="customer", type="bigint"),
    Field(name="coupon", type="string", required=False),
    Field(name="weight", type="double", required=False),
    Field(name="lines", type="array<struct<sku:string,n:int>>"),
    Field(name="tags", type="map<string,int>"),
    Field(name="raw", type="binary"),
    Field(name="large", type="bigint"),
    Field(name="card", type="string", required=False),
    Field(name="cash", type="bigint", required=False),
    Field(name="more", type="string", format="json", required=False),
    Field(name="amount", type="double"),
    Field(name="ok", type="boolean"),
)
FULL = """id: "o-1" at { seconds: 1700000000 nanos: 250000999 } status: PAID customer: -7 coupon: ""
weight { value: 1.5 } lines { sku: "a" n: 2 gift { sku: "g" } } lines { sku: "b" } tags { key: "x" value: 3 }
raw: "\\377" large: 5 cash: 9 more { fields { key: "k" value { number_value: 1 } } } amount: 2.25 ok: true"""
AT = datetime(2023, 11, 14, 22, 13, 20, 250_000, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("protobuf")


@pytest.fixture(scope="module")
def encoded(folder) -> Callable[[str], bytes]:
    def of(text: str, message: str = "shop.Order") -> bytes:
        done = protoc(folder, SCHEMA, f"--encode={message}", given=text.encode())
        assert done.returncode == 0, done.stderr
        return done.stdout

    return of


def decoder(folder: Path, fields: tuple[Field, ...] = FIELDS, **how: Any) -> RecordDecoder:
    if not how:
        if not (folder / "out.desc").exists():
            done = protoc(
                folder, SCHEMA, "--include_imports", f"--descriptor_set_out={folder}/out.desc"
            )
            assert done.returncode == 0, done.stderr
        how = {"descriptor": (folder / "out.desc").read_bytes(), "message": "shop.Order"}
    topic = Topic(name="orders", fields=fields, event_time="at", format=Protobuf(**how))
    return prepare(topic, str(folder), None).decoder()


def decoded(by: RecordDecoder, values: list[bytes | None]) -> tuple[list[Any], list[str | None]]:
    columns, reasons = by.decode(records(values))
    return [*zip(*(column.to_pylist() for column in columns), strict=True)], [*reasons]


def test_every_kind_of_field_is_what_protobuf_says(folder, encoded):
    values = [encoded(FULL), encoded('id: "o-2" at { }'), None, b"", b"\x0a\x09x"]
    rows, reasons = decoded(decoder(folder), values)
    assert rows[0] == (
        "o-1",
        AT,
        "PAID",
        -7,
        "",
        1.5,
        [{"sku": "a", "n": 2}, {"sku": "b", "n": 0}],
        [("x", 3)],
        b"\xff",
        5,
        None,
        9,
        '{"k":1.0}',
        2.25,
        True,
    )
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert rows[1] == (
        "o-2",
        epoch,
        "UNKNOWN",
        0,
        None,
        None,
        [],
        [],
        b"",
        0,
        None,
        None,
        None,
        0.0,
        False,
    )
    assert reasons == [
        None,
        None,
        "tombstone: the value is null",
        "Object missing required field `at`, or it is null",
        "it is no shop.Order in Protobuf's encoding",
    ]


def test_a_message_of_no_bytes_is_one_of_defaults_with_and_without_others_beside_it(folder):
    fields = (Field(name="at", type="timestamp", part="timestamp"), *FIELDS[3:5], FIELDS[-1])
    for values in ([b""], [b"", b"", None], [b"", b"\x0a\x09x"]):
        rows, reasons = decoded(decoder(folder, fields), [*values])
        assert (rows[0][1:], reasons[0]) == ((0, None, False), None)
        assert [reason is None for reason in reasons] == [value == b"" for value in values]


BAD = {
    'id: "o" at { seconds: 99999999999999 }': "`$.at` is no time of the years 1 to 9999",
    'id: "o" at { nanos: -1 }': "`$.at` is no time of the years 1 to 9999",
    'id: "o" at { } status: 7': "`$.status` is 7, a number that its enum lacks",
    'id: "o" at { } large: 18446744073709551615': "`$.large` is a number out of range of bigint",
    'id: "o"': "Object missing required field `at`, or it is null",
}


@pytest.mark.parametrize("text", BAD)
def test_a_value_that_no_column_has_is_malformed(folder, encoded, text):
    assert decoded(decoder(folder), [encoded(text)])[1] == [BAD[text]]


def test_the_registrys_schema_and_the_place_in_it_say_which_message(folder, tmp_path, encoded):
    keep(
        tmp_path,
        {7: Registered("PROTOBUF", SCHEMA, ()), 8: None, 9: Registered("AVRO", '"int"', ())},
    )
    fields = (Field(name="id", type="string"), Field(name="at", type="timestamp"))
    by = decoder(tmp_path, fields, registry="main", message="shop.Order")
    order, other = encoded('id: "o-1" at { }'), encoded('x: "1"', "shop.Other")
    deep = encoded('id: "d" at { }', "shop.Other.Deep")
    values: list[bytes | None] = [
        framed(7, b"\x02\x02" + order),
        framed(7, b"\0" + other),
        framed(7, b"\x04\0\0" + deep),
        framed(7, b"\x02\x0a" + order),
        framed(7, b"\x04"),
        framed(8, b"\0"),
        framed(9, b"\0"),
    ]
    rows, reasons = decoded(by, values)
    assert rows[0][0] == "o-1"
    assert reasons == [
        None,
        "its message is shop.Other, not shop.Order (schema 7)",
        "its message is shop.Other.Deep, not shop.Order (schema 7)",
        "its message is none of its schema, not shop.Order (schema 7)",
        "it ends before its message (schema 7)",
        "the registry has no schema 8",
        "its schema is of AVRO, not of PROTOBUF (schema 9)",
    ]
    any_message = decoder(tmp_path, fields, registry="main")
    rows, reasons = decoded(any_message, values[:3])
    assert [row[0] for row in rows] == ["o-1", None, "d"]
    assert reasons[1] == "Object missing required field `id`, or it is null"


def test_a_schema_that_is_registered_as_a_descriptor_is_one_with_its_imports(
    folder, tmp_path, encoded
):
    done = protoc(folder, SCHEMA, f"--descriptor_set_out={tmp_path}/own.desc")
    assert done.returncode == 0, done.stderr
    [own] = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "own.desc").read_bytes()).file
    text = b64encode(own.SerializeToString()).decode()
    keep(tmp_path, {7: Registered("PROTOBUF", text, ())})
    fields = (Field(name="id", type="string"), Field(name="at", type="timestamp"))
    by = decoder(tmp_path, fields, registry="main", message="shop.Order")
    assert decoded(by, [framed(7, b"\x02\x02" + encoded('id: "o-1" at { }'))])[1] == [None]


SMALL = """syntax = "proto3";
package shop;
message Order { string id = 1; int64 n = 2; double d = 3; repeated int32 r = 4; bytes b = 5; bool t = 6; }
"""
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def by_hand(order: dict[str, Any]) -> bytes:
    """The wire format as its page has it: no library writes it."""
    text, raw = order["id"].encode(), order["b"]
    parts = [b"\x0a" + varint(len(text)) + text, b"\x10" + varint(order["n"])]
    parts.append(b"\x19" + struct.pack("<d", order["d"]))
    packed = b"".join(map(varint, order["r"]))
    parts.append(b"\x22" + varint(len(packed)) + packed)
    parts.append(b"\x2a" + varint(len(raw)) + raw)
    parts.append(b"\x30" + varint(order["t"]))
    return b"".join(parts)


ORDERS = st.fixed_dictionaries(
    {
        "id": st.text(max_size=5),
        "n": NUMBERS,
        "d": st.floats(allow_nan=False),
        "r": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
        "b": st.binary(max_size=5),
        "t": st.booleans(),
    }
)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> RecordDecoder:
    folder = tmp_path_factory.mktemp("small")
    done = protoc(folder, SMALL, f"--descriptor_set_out={folder}/out.desc")
    assert done.returncode == 0, done.stderr
    kinds = {
        "id": "string",
        "n": "bigint",
        "d": "double",
        "r": "array<int>",
        "b": "binary",
        "t": "boolean",
    }
    fields = (
        *(Field(name=n, type=k) for n, k in kinds.items()),
        Field(name="at", type="timestamp", part="timestamp"),
    )
    how = Protobuf(descriptor=(folder / "out.desc").read_bytes(), message="shop.Order")
    return prepare(Topic(name="o", fields=fields, event_time="at", format=how), "", None).decoder()


@given(order=ORDERS)
def test_what_is_written_by_the_wire_format_comes_back_equal(order, small):
    rows, reasons = decoded(small, [by_hand(order)])
    assert reasons == [None]
    assert dict(zip(["id", "n", "d", "r", "b", "t"], rows[0], strict=False)) == order


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    changes=st.lists(
        st.tuples(ORDERS, st.integers(0, 200), st.integers(0, 255), st.booleans()),
        min_size=20,
        max_size=20,
    )
)
def test_changed_bytes_are_refused_or_are_what_protoc_reads(changes, small, tmp_path_factory):
    """One call of protoc for twenty: as the repeated messages of another one."""
    folder = tmp_path_factory.getbasetemp()
    values = []
    for order, at, byte, cut in changes:
        value = bytearray(by_hand(order))
        value[at % len(value) : at % len(value) + 1] = b"" if cut else bytes([byte])
        values.append(bytes(value))
    rows, reasons = decoded(small, [*values])
    good = [n for n, why in enumerate(reasons) if why is None]
    if not good:
        return
    inside = b"".join(b"\x0a" + varint(len(values[n])) + values[n] for n in good)
    done = protoc(
        folder, SMALL + "message All { repeated Order all = 1; }", "--decode=shop.All", given=inside
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.decode().split("all {")[1:]
    for n, text in zip(good, told, strict=True):
        row = dict(zip(["id", "n", "d", "r", "b", "t"], rows[n], strict=False))
        if row["n"]:
            assert f"\n  n: {row['n']}\n" in text
        assert text.count("\n  r: ") == len(row["r"])
        assert ("\n  t: true" in text) == row["t"]


def test_declarations_are_refused_in_words(folder):
    with fails(SpecInvalid, "fields_refused", fields="registry"):
        Protobuf(message="shop.Order")
    topic = Topic(
        name="orders",
        fields=(Field(name="at", type="timestamp"),),
        event_time="at",
        format=Protobuf(descriptor=b"\x0a\x03abc", message="shop.Order"),
    )
    with fails(SpecInvalid, "no_descriptor"):
        prepare(topic, str(folder), None)


NARROW = """syntax = "proto3"; package shop; message Order {
string id = 1; int32 a = 2; uint32 b = 3; sint32 c = 4; repeated int32 d = 5; map<int32, int32> e = 6; optional int32 f = 7; Order in = 8; google.protobuf.Timestamp at = 9; }"""
WIDE = NARROW.replace("int32", "int64")
IMPORT = 'package shop; import "google/protobuf/timestamp.proto";'


@pytest.mark.parametrize("kind", ["bigint", "int"])
def test_a_wider_number_of_a_newer_producer_is_whole_or_malformed(tmp_path, kind):
    narrow, wide = (each.replace("package shop;", IMPORT) for each in (NARROW, WIDE))
    fields = (
        Field(name="at", type="timestamp"),
        *(Field(name=name, type=kind) for name in "abc"),
        Field(name="d", type=f"array<{kind}>"),
        Field(name="e", type=f"map<string,{kind}>"),
        Field(name="f", type=kind, required=False),
        Field(name="g", type=kind, path="in.a", required=False),
    )
    old = tmp_path / "old.desc"
    assert (
        protoc(tmp_path, narrow, "--include_imports", f"--descriptor_set_out={old}").returncode == 0
    )
    by = decoder(tmp_path, fields, descriptor=old.read_bytes(), message="shop.Order")

    def sent(number: int, text: str) -> bytes:
        done = protoc(
            tmp_path,
            wide,
            "--encode=shop.Order",
            given=(f"at {{}} {text}" % {"n": number}).encode(),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    parts = ["a: %(n)d", "b: %(n)d", "c: %(n)d", "d: 1 d: %(n)d", "e { key: 1 value: %(n)d }", "f: %(n)d", "in { a: %(n)d }"]  # fmt: skip
    for place, part in enumerate(parts, 1):
        rows, reasons = decoded(by, [sent(7, part), sent(2**32 + 5, part)])
        small, large = (
            [1, number] if place == 4 else [("1", number)] if place == 5 else number
            for number in (7, 2**32 + 5)
        )
        assert (rows[0][place], reasons[0]) == (small, None)
        assert rows[1][place] == (large if kind == "bigint" else None)
        assert (reasons[1] is None) == (kind == "bigint")
        if kind == "int":
            assert "`$." in str(reasons[1])
