"""The records of a value of Avro or Protobuf that has many, and what JSON's are beside them."""

import gzip
import json
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given, strategies as st

from spark_jobs.census.content import Condition
from spark_jobs.decode.formats import Records, taken_apart
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Avro, Compressed, Field, Json, Protobuf, Topic
from tests.harness.refused import fails
from tests.harness.schemas import avro, by_fastavro, framed, keep

READING = {
    "type": "record", "name": "Reading", "fields": [
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "value", "type": "double"},
        {"name": "tags", "type": {"type": "map", "values": "string"}, "default": {}},
    ],
}  # fmt: skip
SENSOR = {
    "type": "record", "name": "Sensor", "fields": [
        {"name": "name", "type": "string"},
        {"name": "readings", "type": ["null", {"type": "array", "items": ["null", READING]}]},
    ],
}  # fmt: skip
BATCH = {
    "type": "record", "name": "Batch", "fields": [
        {"name": "site", "type": "string"},
        {"name": "sensors", "type": ["null", {"type": "array", "items": SENSOR}]},
    ],
}  # fmt: skip
FIELDS = (
    Field(name="at", type="timestamp"),
    Field(name="value", type="double"),
    Field(name="tags", type="map<string,string>", required=False),
    Field(name="sensor", type="string", path="name", up=1),
    Field(name="site", type="string", up=2),
)
EACH = "sensors[].readings[]"


@cache
def described() -> tuple[bytes, Any]:
    """The FileDescriptorSet of the same in Protobuf, and the class of a batch."""
    file = descriptor_pb2.FileDescriptorProto(name="b.proto", package="b", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kinds = descriptor_pb2.FieldDescriptorProto

    def message(name: str, *fields: tuple[str, int, str, bool]) -> None:
        made = file.message_type.add(name=name)
        for number, (field, kind, of, many) in enumerate(fields, 1):
            label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            made.field.add(name=field, number=number, type=kind, type_name=of or None, label=label)

    message("Reading", ("at", kinds.TYPE_MESSAGE, ".google.protobuf.Timestamp", False),
            ("value", kinds.TYPE_DOUBLE, "", False))  # fmt: skip
    message("Sensor", ("name", kinds.TYPE_STRING, "", False),
            ("readings", kinds.TYPE_MESSAGE, ".b.Reading", True))  # fmt: skip
    message("Batch", ("site", kinds.TYPE_STRING, "", False),
            ("sensors", kinds.TYPE_MESSAGE, ".b.Sensor", True))  # fmt: skip
    stamp = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(stamp)
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("b.Batch"))
    return descriptor_pb2.FileDescriptorSet(file=[stamp, file]).SerializeToString(), made


def by_protobuf(batch: Any) -> bytes:
    _, kind = described()
    made = kind(site=batch["site"])
    for sensor in batch["sensors"] or ():
        one = made.sensors.add(name=sensor["name"])
        for reading in sensor["readings"] or ():
            here = one.readings.add(value=reading["value"])
            if reading["at"] is not None:
                here.at.seconds, here.at.nanos = divmod(reading["at"], 1000)
                here.at.nanos *= 1_000_000
    return made.SerializeToString()


def by_json(batch: Any) -> bytes:
    return json.dumps(batch).encode()


FORMATS = {
    "avro": (Avro(reader=json.dumps(BATCH)), lambda batch: by_fastavro(BATCH, batch)),
    "protobuf": (Protobuf(descriptor=described()[0], message="b.Batch"), by_protobuf),
    "json": (Json(), by_json),
}
FORMATS |= {
    "json in gzip": (Compressed(by="gzip"), lambda batch: gzip.compress(by_json(batch))),
    "avro in zstd": (
        Compressed(by="zstd", format=FORMATS["avro"][0]),
        lambda batch: zstandard.compress(FORMATS["avro"][1](batch)),
    ),
}


def topic(name: str, **how: Any) -> Topic:
    fields = FIELDS
    if "json" in name:  # a number says no unit
        fields = (FIELDS[0].model_copy(update={"format": "ms"}), *FIELDS[1:])
    return Topic(**{"name": "batches", "fields": fields, "event_time": "at", "each": EACH,
                    "format": FORMATS[name][0]} | how)  # fmt: skip


def found(of: Topic, *values: bytes | None, root: str = "") -> list[tuple[Any, ...]]:
    """Of each element the number of its value, its own, its columns, and why it is malformed."""
    prepared = prepare(of, root, None)
    number = pa.array(range(len(values)), pa.int64())
    none = pa.nulls(len(values), pa.timestamp("us", "UTC"))
    headers = pa.nulls(len(values), Records.alone(None).headers.type)
    bytes_ = pa.array(values, pa.binary())
    records = Records(bytes_, pa.nulls(len(values), pa.binary()), number.cast(pa.int32()), number,
                      none, headers)  # fmt: skip
    taken = taken_apart(records, of, prepared.given[0])
    columns, reasons = prepared.decoder().decode(taken.records)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    told = zip(taken.parents, rows, map(taken.reason, range(len(reasons)), reasons), strict=True)
    return [*told]


def reading(at: int | None, value: float = 1.0) -> dict[str, Any]:
    return {"at": at, "value": value}


def batch(*sensors: list[Any] | None) -> dict[str, Any]:
    of = [{"name": f"s{n}", "readings": each} for n, each in enumerate(sensors)]
    return {"site": "x", "sensors": of}


@pytest.mark.parametrize("name", FORMATS)
def test_elements_have_their_columns_and_what_is_around_and_a_bad_one_is_alone(name):
    made, encode = topic(name), FORMATS[name][1]
    value = encode(batch([reading(0), reading(None), reading(1000, 2.5)], None, [], [reading(7)]))
    at = datetime(1970, 1, 1, tzinfo=UTC)
    rows = found(made, value, encode(batch()), encode({"site": "x", "sensors": None}), b"\xff\xff")
    good = [row for _, row, why in rows if why is None and row[0] is not None]
    assert [(row[0].timestamp(), row[1], *row[3:]) for row in good] == [
        (0, 1.0, "s0", "x"), (1, 2.5, "s0", "x"), (0.007, 1.0, "s3", "x")]  # fmt: skip
    assert good[0][0] == at
    [missing] = [why for p, _, why in rows if p == 0 and why]
    assert missing in (
        "`$.at` is missing or null",
        "Object missing required field `at`, or it is null",
    )
    assert [p for p, *_ in rows] == [0, 0, 0, 0, 1, 2, 3]
    assert rows[-1][2], "bytes of no value are refused as a whole"


@given(
    st.lists(
        st.lists(st.lists(st.none() | st.integers(0, 10**12), max_size=3), max_size=3), max_size=4
    )
)
def test_each_format_has_the_same_elements(values):
    told = dict[str, Any]()
    for name, (_, encode) in FORMATS.items():
        given_ = [encode(batch(*([reading(at) for at in of] for of in each))) for each in values]
        told[name] = found(topic(name), *given_) if given_ else []
        # Protobuf and JSON have no tags in them; Avro has none either.
        told[name] = [(p, (*row[:2], *row[3:]), bool(why)) for p, row, why in told[name]]
    assert all(each == told["json"] for each in told.values())


@pytest.mark.parametrize("name", FORMATS)
def test_a_condition_finds_the_values_with_a_record_that_it_holds_for(name):
    encode = FORMATS[name][1]
    one, other = batch([reading(0), reading(1, 2.5)]), batch([reading(7)])
    # A malformed record is asked by what can be read of it.
    bad = batch([reading(0), reading(None, 3.5)])
    values = [encode(one), encode(other), b"\xff\xff", encode(bad), encode(batch())]
    rows = pa.table({
        "value": values, "key": pa.nulls(5, pa.binary()), "partition": [0] * 5,
        "offset": [*range(5)], "kafka_timestamp": pa.nulls(5, pa.timestamp("us", "UTC")),
    })  # fmt: skip
    told = dict(Condition("value > 2", prepare(topic(name), "", None)).of_records(rows))
    assert {n: held for n, held in told.items() if held} == {0: (2.5,), 3: (3.5,)}
    assert told[1] == (), "a good value that it does not hold for"


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_a_time_that_cannot_be_held_makes_its_element_malformed_and_no_other(name):
    far = 10**16
    value = FORMATS[name][1](batch([reading(5), reading(far), reading(6)]))
    whys = [why for _, _, why in found(topic(name), value)]
    assert [bool(why) for why in whys] == [False, True, False]
    assert "`$.at`" in whys[1]


def test_values_begin_with_the_id_of_a_registrys_schema(tmp_path):
    keep(tmp_path, {7: avro(BATCH), 8: None})
    of = topic("avro", format=Avro(registry="main"))
    value = by_fastavro(BATCH, batch([reading(5), reading(6)]))
    rows = found(of, framed(7, value), framed(8, value), value, None, root=str(tmp_path))
    assert [(p, bool(why)) for p, _, why in rows] == [
        (0, False), (0, False), (1, True), (2, True), (3, True)]  # fmt: skip
    assert "8" in rows[2][2]


@pytest.mark.parametrize("name", ["avro", "protobuf"])
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"each": "others[]", "fields": FIELDS[:1]}, "schema_without_list"),
        ({"each": "site[]", "fields": FIELDS[:1]}, "schema_without_list"),
        ({"each": "[]", "fields": FIELDS[:1]}, "schema_without_list"),
        ({"each": "sensors[]", "fields": FIELDS[:1]}, "schema_lacks"),
        ({"fields": (FIELDS[0], Field(name="value", type="string"))}, "schema_disagrees"),
    ],
)
def test_a_declared_schema_without_such_a_list_or_field_is_refused(name, how, reason):
    with fails(SpecInvalid, reason):
        prepare(topic(name, **how), "", None)


def test_bytes_of_a_producer_in_place_of_an_elements_call_nothing(tmp_path):
    flag = tmp_path / "called"
    decoder = prepare(topic("avro"), "", None).decoder()
    hostile = b"\x80\x04cpathlib\nPath.touch\n(cpathlib\nPath\n(V" + str(flag).encode() + b"\ntRtR."
    _, [why] = decoder.decode(Records.alone(hostile))
    assert why
    assert not flag.exists()


def test_a_time_that_cannot_be_held_is_in_no_text_of_json():
    ticks = {"type": "array", "items": {"type": "long", "logicalType": "timestamp-micros"}}
    fields = [{"name": "at", "type": ticks["items"]}, {"name": "more", "type": ticks}]
    reading = {"type": "record", "name": "R", "fields": fields}
    schema = {"type": "record", "name": "B", "fields": [
        {"name": "l", "type": {"type": "array", "items": reading}},
    ]}  # fmt: skip
    of = Topic(
        name="batches", event_time="at", each="l[]", format=Avro(reader=json.dumps(schema)),
        fields=(Field(name="at", type="timestamp"),
                Field(name="more", type="string", format="json")),
    )  # fmt: skip
    plain = json.loads(json.dumps(schema).replace('"logicalType": "timestamp-micros"', '"x": 1'))
    value = by_fastavro(plain, {"l": [{"at": 0, "more": [0]}, {"at": 0, "more": [0, 2**62]}]})
    [good, bad] = found(of, value)
    assert good[1][1] == '["1970-01-01T00:00:00Z"]'
    assert bad[1:] == ((None, None), "`$.more` has a time outside the years 1 to 9999")
