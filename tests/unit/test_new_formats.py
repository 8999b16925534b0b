"""`sluice new` over CSV and over Avro of a registry; and the case that it writes, as it is read again."""

import gzip
import json
import runpy
from datetime import timedelta
from decimal import Decimal

import pytest
import zstandard

from spark_jobs.decode.schemas.registry import Registered
from spark_jobs.draft.drafted import draft
from spark_jobs.draft.fields import THE_FORMAT
from spark_jobs.draft.folder import text
from spark_jobs.draft.golden import golden
from spark_jobs.draft.registered_topic import keep_schemas
from spark_jobs.errors import SampleUnusable
from spark_jobs.proof.cases import read
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Avro, Csv, Deduplicate, Latest, Protobuf
from tests.harness.refused import fails
from tests.harness.schemas import avro, by_fastavro, framed, keep, protoc
from tests.unit.test_new import CLOCK, NOON, order, sampled

ROWS = [
    f"o-{n};{(NOON + timedelta(seconds=n)).isoformat()};{n}.50;{n % 2 == 0};0{n};\"Doe; J\""
    .replace("True", "true").replace("False", "false")
    for n in range(60)
]  # fmt: skip
TYPES = ["string", "timestamp", "decimal(12,2)", "boolean", "string", "string"]
NAMES = ("order_id", "placedAt", "amount", "paid", "zip", "who")
SCHEMA = {
    "type": "record", "name": "Order", "fields": [
        {"name": "orderId", "type": "string"},
        {"name": "placedAt", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "ship", "type": ["null", {"type": "record", "name": "Ship", "fields": [
            {"name": "city", "type": "string"}]}]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "more", "type": {"type": "map", "values": "long"}},
    ],
}  # fmt: skip
OLDER = {**SCHEMA, "fields": SCHEMA["fields"][:4]}


def spec_of(made, tmp_path):
    """What the text declares."""
    path = tmp_path / "spec.py"
    path.write_text(text(made, 1))
    return runpy.run_path(str(path))["SPEC"]


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
@pytest.mark.parametrize("headers", [1, 3, 0])
def test_rows_of_csv_get_a_column_for_each_cell(headers, delimiter, tmp_path):
    header = bool(headers)  # more than one of files that were sent one after another
    rows = [*headers * [";".join(NAMES)], *ROWS]
    values = [row.replace(";", delimiter).encode() for row in rows]
    made = draft("orders", "orders", sampled(values))
    spec = spec_of(made, tmp_path)
    assert spec == made.spec
    names = NAMES if header else tuple(f"column_{n}" for n in range(1, 7))
    assert spec.topic.format == Csv(columns=names, delimiter=delimiter)
    assert [field.type for field in spec.topic.fields] == TYPES
    assert (THE_FORMAT in made.notes) is not header
    assert spec.steps == (Deduplicate(keys=("order_id",) if header else ("*",)),)
    assert (len(made.tried.rows), made.tried.malformed.total()) == (60, headers)


def by_gzip(value):
    return gzip.compress(value)


def by_zstd(value):
    return zstandard.ZstdCompressor().compress(value)


@pytest.mark.parametrize(("by", "packed"), [("gzip", by_gzip), ("zstd", by_zstd)])
@pytest.mark.parametrize("inner", ["json", "csv"])
def test_what_is_compressed_record_by_record_is_declared_by_what_is_in_it(
    by, packed, inner, tmp_path
):
    plain = [json.dumps(order(n)).encode() for n in range(60)]
    plain = [row.encode() for row in ROWS] if inner == "csv" else plain
    # A copy that was packed anew has other bytes, and is a copy all the same.
    values = [packed(each) for each in plain] + [packed(plain[0] + b" ") if inner == "json" else packed(plain[0])]  # fmt: skip
    made, as_it_is = (
        draft("orders", "orders", sampled(values)),
        draft("orders", "orders", sampled(plain)),
    )
    spec = spec_of(made, tmp_path)
    assert spec == made.spec
    assert (spec.topic.format.by, spec.topic.format.format) == (by, as_it_is.spec.topic.format)
    assert spec.topic.fields == as_it_is.spec.topic.fields
    assert made.tried.malformed.total() == 0
    case = tmp_path / "tests.yaml"
    case.write_text(golden(made))
    [[first, *_]] = read(case)[0].given
    assert first.value == values[0]


def orders(schema, number, count):
    """Records of these fields, in Confluent's wire format."""
    names = [field["name"] for field in schema["fields"]]
    whole = [
        {"orderId": f"o-{n}", "placedAt": NOON + timedelta(seconds=n), "amount": Decimal("12.50"),
         "ship": {"city": "Köln"} if n % 2 else None, "tags": ["a"], "more": {"x": n}}
        for n in range(count)
    ]  # fmt: skip
    return [
        framed(number, by_fastavro(schema, {name: each[name] for name in names})) for each in whole
    ]


def test_avro_of_a_registry_is_declared_by_the_newest_schema(tmp_path):
    keep(tmp_path, {7: avro(OLDER), 9: avro(SCHEMA)})
    values = [*orders(OLDER, 7, 5), *orders(SCHEMA, 9, 60)[5:]]
    made = draft("orders", "orders", sampled(values), str(tmp_path))
    spec = spec_of(made, tmp_path)
    assert spec == made.spec
    assert spec.topic.format == Avro(registry="main")
    assert {f.name: (f.type, f.format, f.required) for f in spec.topic.fields} == {
        "order_id": ("string", None, True),
        "placed_at": ("timestamp", None, True),
        "amount": ("decimal(9,2)", None, True),
        "city": ("string", None, False),
        "tags": ("array<string>", None, False),
        "more": ("string", "json", False),
    }
    assert (spec.topic.event_time, spec.steps) == ("placed_at", (Deduplicate(keys=("order_id",)),))
    assert (len(made.tried.rows), made.tried.malformed.total()) == (60, 0)
    assert made.tried.rows[9]["more"] == '{"x":9}'


PROTO = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Other { string x = 1; }
message Order {
  enum Status { UNKNOWN = 0; PAID = 1; }
  message Ship { string city = 1; }
  string order_id = 1;
  google.protobuf.Timestamp placed_at = 2;
  Status status = 3;
  optional string coupon = 4;
  google.protobuf.DoubleValue weight = 5;
  Ship ship = 6;
  repeated string tags = 7;
  map<string, int32> more = 8;
  uint64 large = 9;
  repeated Ship stops = 10;
}
"""


def test_protobuf_of_a_registry_is_declared_by_the_newest_records_message(tmp_path):
    seconds = int(NOON.timestamp())
    values = []
    for n in range(3):
        text = f"""order_id: "o-{n}" placed_at {{ seconds: {seconds + n} }} status: PAID
        weight {{ value: 1.5 }} ship {{ city: "Köln" }} tags: "a" more {{ key: "k" value: {n} }}
        large: 18446744073709551615 stops {{ city: "Bonn" }}"""
        done = protoc(tmp_path, PROTO, "--encode=shop.Order", given=text.encode())
        assert done.returncode == 0, done.stderr
        values.append(framed(9, b"\x02\x02" + done.stdout))
    keep(tmp_path, {9: Registered("PROTOBUF", PROTO, ())})
    made = draft("orders", "orders", sampled(values * 20), str(tmp_path))
    spec = spec_of(made, tmp_path)
    assert spec == made.spec
    assert spec.topic.format == Protobuf(registry="main", message="shop.Order")
    assert {f.name: (f.type, f.format, f.required) for f in spec.topic.fields} == {
        "order_id": ("string", None, True),
        "placed_at": ("timestamp", None, True),
        "status": ("string", None, True),
        "coupon": ("string", None, False),
        "weight": ("double", None, False),
        "city": ("string", None, False),
        "tags": ("array<string>", None, True),
        "more": ("string", "json", True),
        "large": ("decimal(20,0)", None, True),
        "stops": ("string", "json", True),
    }
    assert spec.topic.event_time == "placed_at"
    assert (len(made.tried.rows), made.tried.malformed.total()) == (60, 0)
    row = made.tried.rows[0]
    assert (row["large"], row["city"], row["weight"]) == (Decimal(2**64 - 1), "Köln", 1.5)
    assert json.loads(row["stops"]) == [{"city": "Bonn"}]
    with fails(SampleUnusable, "mostly_malformed", records=1, sampled=1):
        draft("orders", "orders", sampled([framed(9, b"\x02\x0a")]), str(tmp_path))


def test_avro_without_its_schema_is_refused_in_words(tmp_path):
    values = orders(SCHEMA, 9, 3)
    with fails(SampleUnusable, "by_registry", sampled=3):
        draft("orders", "orders", sampled(values))
    keep(tmp_path, {9: avro(SCHEMA)})
    with fails(SampleUnusable, "mostly_malformed", records=3, sampled=3):
        draft("orders", "orders", sampled([framed(9, b"\x02a")] * 3), str(tmp_path))
    undeclared = Settings("/root", "b:2", tmp_path, "x", "1g")
    with fails(SampleUnusable, "by_registry", sampled=3):
        keep_schemas(sampled(values), undeclared, str(tmp_path))


def test_the_written_case_is_read_as_the_records_were_and_the_decoder_reads_them(tmp_path):
    odd = "\x85\x7f\u2028\U0001f600: {x} # 'y' \"z\""
    records = [order(n, note=odd, price=1e-7) for n in range(60)]
    sample = sampled([*records, b'{"orderId": "\xff', b"x" * 9_000])
    made = draft("orders", "orders", sample)
    path = tmp_path / "tests.yaml"
    path.write_text(golden(made), encoding="utf-8")
    [case] = read(path)
    [batch] = case.given
    first, copy, bad = batch[0], batch[3], batch[4]
    assert (first.value, first.value["note"]) == (records[0], odd)
    assert copy == first
    assert bad.value == b'{"orderId": "\xff'
    assert len(batch) == 5
    assert [row["order_id"] for row in case.expect.rows] == ["o-0", "o-7", "o-1"]
    assert (case.expect.duplicates, len(case.expect.malformed)) == (1, 1)
    assert (first.value["price"], case.expect.rows[0]["price"]) == (1e-7, 1e-7)


def test_numbers_without_a_logical_type_are_times_by_their_size_and_equal_names_are_two(tmp_path):
    place = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}
    schema = {"type": "record", "name": "Order", "fields": [
        {"name": "createdAt", "type": "long"},
        {"name": "from", "type": place},
        {"name": "to", "type": "Place"},
    ]}  # fmt: skip
    keep(tmp_path, {9: avro(schema)})
    values = [
        {"createdAt": int(CLOCK) + n, "from": {"city": "Köln"}, "to": {"city": "Bonn"}}
        for n in range(60)
    ]
    given = [framed(9, by_fastavro(schema, each)) for each in values]
    made = draft("x", "x", sampled(given), str(tmp_path))
    fields = {f.name: (f.type, f.format) for f in spec_of(made, tmp_path).topic.fields}
    assert fields == {
        "created_at": ("timestamp", "ms"), "from_city": ("string", None), "to_city": ("string", None),
    }  # fmt: skip
    assert (made.spec.topic.event_time, made.tried.malformed.total()) == ("created_at", 0)


def test_debezium_by_avro_becomes_the_present_rows(tmp_path):
    row = {"type": "record", "name": "Value", "fields": [
        {"name": "id", "type": "int"}, {"name": "status", "type": ["null", "string"]}]}  # fmt: skip
    source = {
        "type": "record",
        "name": "Source",
        "fields": [{"name": "lsn", "type": ["null", "long"]}],
    }
    schema = {"type": "record", "name": "Envelope", "fields": [
        {"name": "before", "type": ["null", row]}, {"name": "after", "type": ["null", "Value"]},
        {"name": "source", "type": source}, {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]}]}  # fmt: skip
    keep(tmp_path, {9: avro(schema)})
    values = [
        {"op": "u", "before": None, "after": {"id": n % 9, "status": "paid"}, "ts_ms": int(CLOCK) + n,
         "source": {"lsn": 100 + n}}
        for n in range(60)
    ]  # fmt: skip
    values[9] |= {"op": "d", "before": values[0]["after"], "after": None}
    given = [framed(9, by_fastavro(schema, each)) for each in values]
    made = draft("x", "x", sampled(given), str(tmp_path))
    spec = spec_of(made, tmp_path)
    assert (spec.topic.envelope, spec.topic.format) == ("debezium", Avro(registry="main"))
    assert spec.steps == (Latest(keys=("id",), order_by=("lsn", "changed_at"), deletes="op = 'd'"),)
    assert (len(made.tried.rows), made.tried.malformed.total()) == (60, 0)
