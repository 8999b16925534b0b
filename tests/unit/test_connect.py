"""Connect's schema beside a record, as its JSON converter writes it: what it says of the values
counts, not what the topic's fields say. The numbers are computed by hand.
"""

import base64
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.spec import Field, Json, Topic
from tests.unit.decoding import Decoding, records
from tests.unit.test_record_forms import MS, WHEN

DECIMAL = "org.apache.kafka.connect.data.Decimal"
AT = Field(name="at", type="timestamp", part="envelope", path="source.ts_ms", format="ms")


def b64(unscaled: int) -> str:
    size = (unscaled.bit_length() + 8) // 8
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def of_scale(scale: Any) -> dict[str, Any]:
    return {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": str(scale)}}


def named(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "name": name, "version": 1, "optional": True}


def struct(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{**of, "field": name} for name, of in fields.items()]}


def change(of: Any, x: Any, *, before: bool = False) -> bytes:
    """A change whose column x is this, by this schema."""
    row = struct(x=of)
    after, gone = (None, {"x": x}) if before else ({"x": x}, None)
    payload = {"before": gone, "after": after, "op": "c", "source": {"ts_ms": MS}}
    schema = struct(before=row, after=row, op={"type": "string"})
    return json.dumps({"schema": schema, "payload": payload}).encode()


def topic(kind: str, **how: Any) -> Topic:
    field = Field(name="x", type=kind, required=False, **how)
    return Topic(name="t", envelope="debezium", event_time="at", fields=(field, AT))


def got(value: bytes, kind: str, **how: Any) -> tuple[Any, str]:
    row, why = Decoding(topic(kind, **how)).row(value)
    return row[0], why or ""


AMOUNT = {"kind": "decimal(12,2)", "format": "base64"}
MICROS, NANOS = "io.debezium.time.MicroTimestamp", "io.debezium.time.NanoTimestamp"
JSONS = "io.debezium.data.Json"
US = MS * 1000
READ: dict[str, tuple[Any, Any, dict[str, Any], Any]] = {
    "the scale that is declared": (of_scale(2), b64(1032), AMOUNT, Decimal("10.32")),
    "a larger scale": (of_scale(4), b64(120000), AMOUNT, Decimal("12.00")),
    "a smaller scale": (of_scale(0), b64(-12), AMOUNT, Decimal("-12.00")),
    "a negative scale": (of_scale(-2), b64(5), AMOUNT, Decimal("500.00")),
    "nothing said of it": ({}, b64(1032), AMOUNT, Decimal("10.32")),
    "a null of another scale": (of_scale(4), None, AMOUNT, None),
    "its unit": (named("int64", MICROS), US, {"kind": "timestamp", "format": "us"}, WHEN),
    "a smaller unit": (named("int64", NANOS), US * 1000, {"kind": "timestamp", "format": "us"}, WHEN),
    "a larger unit": (named("int64", "io.debezium.time.Timestamp"), MS, {"kind": "timestamp", "format": "us"}, WHEN),
    "of a local time": (named("int64", MICROS), US, {"kind": "timestamp_ntz", "format": "ms"}, WHEN.replace(tzinfo=None)),
    "a number of no name": ({"type": "int64"}, US, {"kind": "timestamp", "format": "us"}, WHEN),
    "a connector's own name": (named("int64", "shop.Micros"), US, {"kind": "timestamp", "format": "us"}, WHEN),
    "digits": ({"type": "string"}, str(US), {"kind": "timestamp", "format": "us"}, WHEN),
    "days": (named("int32", "io.debezium.time.Date"), 1, {"kind": "date", "format": "days"}, date(1970, 1, 2)),
    "a text of a name": (named("string", JSONS), "{}", {"kind": "string"}, "{}"),
    "bytes": ({"type": "bytes"}, b64(1), {"kind": "binary"}, b"\1"),
    "any value": (of_scale(4), b64(1), {"kind": "string", "format": "json"}, '"AQ=="'),
    "a decimal as a number": (of_scale(4), 12.5, {"kind": "decimal(12,2)"}, Decimal("12.50")),
    "a number as it is": (named("int64", MICROS), US, {"kind": "bigint"}, US),
    "members": ({"type": "array", "items": {"type": "string"}}, ["a"], {"kind": "array<string>"}, ["a"]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
@pytest.mark.parametrize("before", [False, True])
def test_a_value_is_read_by_the_schema_beside_it(case, before):
    of, given, how, wanted = READ[case]
    assert got(change(of, given, before=before), **how) == (wanted, "")


MICRO_TIME, YEAR = "io.debezium.time.MicroTime", "io.debezium.time.Year"
REFUSED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a scale that rounds": (of_scale(4), b64(123456), AMOUNT),
    "a scale that is none": (of_scale("x"), b64(1032), AMOUNT),
    "digits as text": ({"type": "string"}, "1234", AMOUNT),
    "bytes that are no decimal": ({"type": "bytes"}, b64(1032), AMOUNT),
    "a decimal where there is text": (of_scale(2), b64(1032), {"kind": "string"}),
    "a decimal where digits are": (of_scale(2), "1234", {"kind": "decimal(12,2)", "format": "text"}),
    "bytes where there is text": ({"type": "bytes"}, "abcd", {"kind": "string"}),
    "text where there are bytes": ({"type": "string"}, "abcd", {"kind": "binary"}),
    "a time of day": (named("int64", MICRO_TIME), US, {"kind": "timestamp", "format": "us"}),
    "a year": (named("int32", YEAR), 2026, {"kind": "date", "format": "days"}),
    "a date for a time": (named("int32", "io.debezium.time.Date"), 20_000, {"kind": "timestamp", "format": "ms"}),
    "a time for a date": (named("int64", "io.debezium.time.Timestamp"), 20_000, {"kind": "date", "format": "days"}),
    "bytes in an array": ({"type": "array", "items": {"type": "bytes"}}, ["abcd"], {"kind": "array<string>"}),
    "a decimal in a map": ({"type": "map", "values": of_scale(2)}, {"a": "abcd"}, {"kind": "map<string,string>"}),
    "bytes in an object": (struct(y={"type": "bytes"}), {"y": "abcd"}, {"kind": "struct<y:string>"}),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("wanted", [None, ("at",)])
def test_a_value_that_its_schema_says_is_another_is_malformed_with_its_field(case, wanted):
    of, given, how = REFUSED[case]
    [*columns], [why] = Decoding(topic(**how), wanted).columns([change(of, given)])
    assert str(why).startswith("`$.x` is ")
    assert {each for column in columns for each in column} == {None}


def test_each_record_of_a_batch_is_read_by_its_own_schema():
    """One without a schema, and one unwrapped, as the topic declares it."""
    unwrapped = {"after": {"x": b64(500)}, "op": "c", "source": {"ts_ms": MS}}
    values = [
        change(of_scale(2), b64(100)),
        change(of_scale(4), b64(10_000)),
        change(of_scale(4), b64(1)),
        json.dumps({"payload": unwrapped}).encode(),
        json.dumps(unwrapped).encode(),
        change(of_scale(4), b64(20_000), before=True),
        json.dumps({"schema": None, "payload": unwrapped}).encode(),
        json.dumps({"schema": "orders-v1", "payload": unwrapped}).encode(),
    ]
    columns, reasons = Decoding(topic("decimal(12,2)", format="base64")).columns(values)
    want = [1, 1, None, 5, 5, 2, 5, 5]
    assert columns[0] == [None if each is None else Decimal(each) for each in want]
    assert [number for number, why in enumerate(reasons) if why] == [2]


def beside(payload: Any, schema: Any, **around: Any) -> Any:
    return {"schema": schema, "payload": payload, **around}


def test_a_schema_counts_beside_any_payload_of_a_value_of_a_key_and_of_an_events_data():
    row, schema = {"x": b64(10_000), "at": MS}, struct(x=of_scale(4), at={"type": "int64"})
    x = {"name": "x", "type": "decimal(12,2)", "format": "base64"}
    at = {"name": "at", "type": "timestamp", "format": "ms"}
    plain = Topic(name="t", event_time="at", key=Json(), fields=(Field(**x, path="payload.x"), Field(**at, path="payload.at"), Field(**x | {"name": "k"}, part="key", path="payload.x")))  # fmt: skip
    both = json.dumps(beside(row, schema)).encode()
    columns, reasons = Decoding(plain).of(records([both], [both]))
    assert (columns, reasons) == ([[Decimal(1)], [WHEN], [Decimal(1)]], [None])
    assert "payload" in why_python(
        plain.model_copy(update={"key": Json(), "fields": plain.fields[:2]})
    )
    event = {"specversion": "1.0", "id": "e", "data": beside(row, schema)}
    cloud = Topic(name="t", envelope="cloudevents", event_time="at", fields=plain.fields[:2])
    assert Decoding(cloud).columns([json.dumps(event).encode()]) == ([[Decimal(1)], [WHEN]], [None])


def test_of_several_paths_the_schema_is_of_the_one_that_has_the_value():
    field = Field(name="x", type="decimal(12,2)", format="base64", path=("payload.new", "payload.old", "old"), required=False)  # fmt: skip
    of = Topic(name="t", event_time="at", fields=(field, Field(name="at", type="timestamp", format="ms")))  # fmt: skip
    schema = struct(new=of_scale(2), old=of_scale(4))
    values = [
        beside({"new": b64(100)}, schema, at=MS),
        beside({"new": None, "old": b64(20_000)}, schema, at=MS),
        beside({}, schema, at=MS, old=b64(300)),
    ]
    columns, reasons = Decoding(of).columns([json.dumps(each).encode() for each in values])
    assert (columns[0], reasons) == ([Decimal(1), Decimal(2), Decimal(3)], [None] * 3)


@pytest.mark.parametrize("odd", [5, [], "x", {}, {"type": 5}, {"type": "struct", "fields": 7}, {"type": "struct", "fields": [7, {"field": {}}]}, {"type": "struct", "fields": [{"field": "after", "type": "struct"}]}])  # fmt: skip
def test_what_is_no_schema_says_nothing(odd):
    payload = {"after": {"x": b64(100)}, "op": "c", "source": {"ts_ms": MS}}
    value = json.dumps(beside(payload, odd)).encode()
    assert got(value, "decimal(12,2)", format="base64") == (Decimal(1), "")


def test_of_several_names_the_first_with_a_value_counts_also_where_it_is_a_number_as_it_is_written():
    field = Field(name="x", type="decimal(12,2)", path=("a", "b"), required=False)
    of = Topic(name="t", event_time="at", fields=(field, Field(name="at", type="timestamp", format="ms")))  # fmt: skip
    assert Decoding(of).row(b'{"a":null,"b":5,"at":0}')[0][0] == Decimal(5)


def test_a_column_that_changed_its_unit_keeps_the_same_time():
    start = datetime(2026, 3, 1, tzinfo=UTC)
    for name, unit in (("io.debezium.time.Timestamp", 1), (MICROS, 1_000), (NANOS, 1_000_000)):
        number = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) * unit
        assert got(change(named("int64", name), number), "timestamp", format="ms") == (start, "")
