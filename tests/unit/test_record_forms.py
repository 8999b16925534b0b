"""Records as topics have them: what each declaration reads, and what each bad record gets."""

import base64
import gzip
import io
import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import fastavro
import pytest
from hypothesis import given, strategies as st

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint
from spark_jobs.registry.fingerprint.topic import (
    Classification,
    classification,
    with_classification,
)
from spark_jobs.spec import Avro, Compressed, Csv, Field, Json, Lines, Local, Text, Topic, Transform
from tests.harness.refused import fails
from tests.unit.decoding import SENT, Decoding, records
from tests.unit.specs import pipeline

AT = Field(name="at", type="timestamp", path="timestamp", format="ms")
MS = 1_764_064_800_123
WHEN = datetime(2025, 11, 25, 10, tzinfo=UTC) + timedelta(milliseconds=123)
SPARK = "4.2.0"


def topic(*fields: Field, **changes: Any) -> Topic:
    """A topic whose event time is epoch milliseconds at `timestamp`, unless it has another one."""
    usual: dict[str, Any] = {"name": "t", "event_time": "at", "fields": (*fields, AT)}
    return Topic(**usual | changes)


def value(**fields: Any) -> bytes:
    return json.dumps({"timestamp": MS} | fields, ensure_ascii=False).encode()


def got(field: Field, given: Any, key: str = "x") -> tuple[Any, str]:
    """The value of one field in a record that has this at `key`, and why the record is malformed."""
    row, why = Decoding(topic(field)).row(value(**{key: given}))
    return row[0], why or ""


def read(kind: str, given: Any, **how: Any) -> Any:
    found, why = got(Field(name="x", type=kind, **how), given)
    assert why == ""
    return found


def refused(kind: str, given: Any, **how: Any) -> str:
    found, why = got(Field(name="x", type=kind, **how), given)
    assert found is None
    assert len(why) < 200
    return why


CLICK: dict[str, Any] = {
    "eventId": "e1",
    "@version": "1",
    "user": {"id": "u1", "traits": {"plan": "pro"}},
    "page": {"user-agent": "Überblick", "a.b": 1},
    "tags": ["a", "b"],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("eventId", "e1"),
        ("@version", "1"),
        ("user.traits.plan", "pro"),
        ('page."user-agent"', "Überblick"),
        ("page.user-agent", "Überblick"),
        ("tags[1]", "b"),
        (("event_id", "eventId"), "e1"),
        (("user.name", "user.id"), "u1"),
    ],
)
def test_a_field_is_where_its_path_says(path, found):
    row, why = Decoding(topic(Field(name="x", type="string", path=path))).row(value(**CLICK))
    assert (row, why) == ((found, WHEN), None)


@pytest.mark.parametrize(
    "path", ["", "a.", ".a", "a..b", "a[x]", "a[01]", 'a"b', "[0]", "a b", "$.a", ()]
)
def test_a_path_that_is_none_is_refused_when_it_is_declared(path):
    with fails(SpecInvalid, "fields_refused"):
        Field(name="x", type="string", path=path)


@pytest.mark.parametrize("path", ["user.id", "tags[0]", ("id", "Id2")])
def test_a_required_field_that_is_missing_or_null_is_malformed_with_its_path(path):
    decoder = Decoding(topic(Field(name="x", type="string", path=path)))
    records = [value(), value(user=None), value(user={}), value(tags=[]), value(id=None)]
    _, reasons = decoder.columns([*records, value(user={"id": "a"}, tags=["a"], id="a")])
    first = path if isinstance(path, str) else path[0]
    assert reasons[-1] is None
    assert all(first in str(why).replace("$.", "") or "user" in str(why) for why in reasons[:-1])


def test_an_optional_field_is_null_wherever_its_path_ends():
    decoder = Decoding(topic(Field(name="x", type="string", path="user.id", required=False)))
    given = [value(), value(user=None), value(user={}), value(user={"id": None})]
    assert decoder.columns(given) == ([[None] * 4, [WHEN] * 4], [None] * 4)


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(
    "wrong", [{"User": {"id": "a"}}, {"user": {"Id": "a"}}, {"user": {"ID": "ü"}}]
)
def test_a_key_in_another_case_is_told_on_every_level(wrong, required):
    field = Field(name="x", type="string", path="user.id", required=required)
    _, why = Decoding(topic(field)).row(value(**wrong))
    assert "is in the wrong case" in str(why)


def test_a_member_of_a_struct_in_another_case_is_told():
    kind = "array<struct<skuId:string,n:int>>"
    assert read(kind, [{"skuId": "a"}, {"n": 1, "more": 2}]) == [
        {"skuId": "a", "n": None},
        {"skuId": None, "n": 1},
    ]
    assert "'x[0].SkuId' is in the wrong case" in refused(kind, [{"SkuId": "a", "n": 1}])


@pytest.mark.parametrize(
    ("one", "other"), [("a", "a.b"), ("a.b", "a"), ("a[0]", "a.b"), ("a", "a[0]")]
)
def test_two_fields_of_which_one_is_a_part_of_the_other_are_refused(one, other):
    first = Field(name="one", type="string", path=one)
    with fails(SpecInvalid, "fields_refused", fields="path"):
        topic(first, Field(name="other", type="string", path=other))
    topic(first, Field(name="other", type="string", path=one))  # one value in two columns


VALUES: dict[str, tuple[Any, Any]] = {
    "smallint": (-32768, -32768),
    "float": (1.5, 1.5),
    "binary": ("aGk=", b"hi"),
    "date": ("2026-02-28", date(2026, 2, 28)),
    "timestamp_ntz": ("2026-03-01T10:00:00.1234567", datetime(2026, 3, 1, 10, 0, 0, 123456)),  # noqa: DTZ001
    "decimal(10,2)": (12.5, Decimal("12.50")),
    "array<int>": ([1, None], [1, None]),
    "map<string,decimal(4,1)>": ({"a": 1.5}, [("a", Decimal("1.5"))]),
    "struct<a:timestamp,b:struct<c:binary>>": ({"a": "2026-03-01T12:00:00+02:00", "b": {"c": "aGk="}}, {"a": datetime(2026, 3, 1, 10, tzinfo=UTC), "b": {"c": b"hi"}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_each_type_has_its_value(kind):
    assert read(kind, VALUES[kind][0]) == VALUES[kind][1]


BAD: dict[str, list[Any]] = {
    "smallint": [32768, "1", 1.5, True],
    "float": [1e39, "1.5"],
    "binary": ["aGk", "a-_=", 1],
    "date": ["2026-02-30", "2026-2-3", "2026-02-28T00:00:00Z", 1],
    "timestamp_ntz": ["2026-03-01T10:00:00Z", "2026-03-01"],
    "decimal(4,2)": [100, 1.005, "x", "1_0", " 1", "NaN", True, [1], {}],
    "array<int>": [["1"], {"a": 1}, "x"],
    "map<string,int>": [{"a": "x"}, [1]],
    "struct<a:int>": [{"a": "x"}, [1], 1],
}


@pytest.mark.parametrize("kind", BAD)
def test_a_value_of_another_type_is_malformed_with_its_field(kind):
    for each in BAD[kind]:
        assert "$.x" in refused(kind, each), each


def test_a_decimal_has_every_digit_of_a_number_and_of_a_declared_text_alone():
    digits = "123456789012345678901234567890.12345678"
    for declared, good, bad in ((None, digits, f'"{digits}"'), ("text", f'"{digits}"', digits)):
        decoder = Decoding(topic(Field(name="x", type="decimal(38,8)", format=declared)))
        row, why = decoder.row(f'{{"timestamp": {MS}, "x": {good}}}'.encode())
        assert (row[0], why) == (Decimal(digits), None)
        row, why = decoder.row(f'{{"timestamp": {MS}, "x": {bad}}}'.encode())
        assert row[0] is None
        assert "$.x" in str(why)
    for kind, parts in (("array<decimal(4,1)>", ["1.5"]), ("struct<a:decimal(4,1)>", {"a": "1.5"})):
        assert "`$.x` is text" in refused(kind, parts)


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("bigint", "-7", -7),
        ("double", "12.50", 12.5),
        ("decimal(10,2)", "12.50", Decimal("12.50")),
        ("boolean", "true", True),
    ],
)
def test_numbers_in_text_are_read_where_that_is_declared_alone(kind, text, found):
    assert read(kind, text, format="text") == found
    for bad in ("", " 1", "1 ", "0x1", "1_0", "٣", "tru", "NaN", "01"):
        assert "`$.x`" in refused(kind, bad, format="text")
    assert "$.x" in refused(kind, text)


def test_any_json_is_kept_as_its_text():
    given = {"b": [1, {"c": None}], "a": "ü"}
    assert json.loads(read("string", given, format="json")) == given
    assert got(Field(name="x", type="string", format="json", required=False), None) == (None, "")
    assert "is missing or null" in refused("string", None, format="json")


def test_the_first_nanosecond_of_64_bits_is_read_beside_numbers_of_more():
    decoder = Decoding(topic(Field(name="x", type="timestamp", format="ns")))
    given_ = [
        value(x=-(2**63)),
        value(x=2**63),
        value(x=-(2**63) - 1),
        value(x="-9223372036854775808"),
    ]
    columns, reasons = decoder.columns(given_)
    first = datetime(1677, 9, 21, 0, 12, 43, 145_224, UTC)
    assert columns[0] == [first, None, None, first]
    assert [reason is None for reason in reasons] == [True, False, False, True]


def test_days_are_a_number_or_its_text():
    for days in (20_454, "20454"):
        assert read("date", days, format="days") == date(2026, 1, 1)
    for bad in (2_932_897, "2932897", "1.0", 1.5, True, "x", "01", [1]):
        assert "`$.x`" in refused("date", bad, format="days")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("text", [False, True])
def test_an_epoch_is_a_number_or_its_text_in_the_declared_unit(unit, text):
    for_one_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    for seconds in (1_764_064_800, 0, -1, -62_135_596_800 if unit != "ns" else -9_223_372_036):
        number = seconds * for_one_second
        found = read("timestamp", str(number) if text else number, format=unit)
        assert found == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    for bad in (2**70, -(2**63) if unit != "ns" else 2**63, True, "1 ", "x", None, [1]):
        assert "x" in refused("timestamp", bad, format=unit)


@pytest.mark.parametrize(
    ("unit", "given", "microsecond"),
    [
        ("s", 1.5, 500_000),
        ("s", "1.123456789", 123_456),
        ("ns", 1_999_999_999, 999_999),
        ("ns", -1, -1),
    ],
)
def test_what_is_finer_than_a_microsecond_is_cut_off(unit, given, microsecond):
    whole = 0 if given == -1 else 1
    wanted = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole, microseconds=microsecond)
    assert read("timestamp", given, format=unit) == wanted


BERLIN = Local(zone="Europe/Berlin")


def test_a_local_time_is_read_by_the_clock_of_its_zone():
    assert read("timestamp", "2026-07-01 12:00:00", format=BERLIN).hour == 10
    assert read("timestamp", "2026-01-01 12:00:00", format=BERLIN).hour == 11
    assert "skips" in refused("timestamp", "2026-03-29 02:30:00", format=BERLIN)
    assert "twice" in refused("timestamp", "2026-10-25 02:30:00", format=BERLIN)
    for twice, hour in (("first", 0), ("second", 1)):
        local = Local(zone="Europe/Berlin", twice=twice)
        assert read("timestamp", "2026-10-25 02:30:00", format=local).hour == hour
    for bad in ("2026-03-29 2:30:00", "2026-03-29T02:30:00", "2026-02-30 10:00:00", "", 1):
        assert "$.x" in refused("timestamp", bad, format=BERLIN)


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2037, 1, 1)).map(  # noqa: DTZ001 - as a clock shows it
        lambda at: at.replace(microsecond=0)
    )
)
def test_a_local_time_is_the_one_that_the_zone_shows_or_malformed(at):
    decoder = Decoding(topic(Field(name="x", type="timestamp", format=BERLIN)))
    row, why = decoder.row(value(x=f"{at:%Y-%m-%d %H:%M:%S}"))
    if why is None:
        assert row[0].astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None) == at
    else:
        assert "skips" in why or "twice" in why


@pytest.mark.parametrize(
    ("kind", "local", "text", "found"),
    [
        ("timestamp", Local(pattern="%d/%b/%Y:%H:%M:%S %z"), "25/Nov/2026:10:00:00 +0100", datetime(2026, 11, 25, 9, tzinfo=UTC)),
        ("timestamp_ntz", Local(pattern="%m/%d/%Y %I:%M %p"), "11/25/2026 12:30 AM", datetime(2026, 11, 25, 0, 30)),  # noqa: DTZ001
        ("date", Local(pattern="%d.%m.%Y"), "25.11.2026", date(2026, 11, 25)),
    ],
)  # fmt: skip
def test_a_pattern_is_matched_strictly(kind, local, text, found):
    assert read(kind, text, format=local) == found
    for bad in (text[:-1], f"{text} ", text.replace("11", "13").replace("Nov", "Nor")):
        assert "`$.x`" in refused(kind, bad, format=local)


def test_each_month_has_its_name():
    for month in range(1, 13):
        text = date(2026, month, 5).strftime("%d-%b-%Y")
        assert read("date", text, format=Local(pattern="%d-%b-%Y")) == date(2026, month, 5)


@pytest.mark.parametrize("zone", ["+24:00", "+25:00", "+01:60", "-9999"])
def test_a_zone_is_less_than_a_day_from_utc(zone):
    local = Local(pattern="%Y-%m-%d %H:%M%z")
    assert "`$.x`" in refused("timestamp", f"2026-01-01 00:00{zone}", format=local)
    assert read("timestamp", "2026-01-02 00:00+23:59", format=local).day == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "timestamp", "format": Local()},
        {"type": "timestamp_ntz", "format": BERLIN},
        {"type": "date", "format": Local()},
        {"type": "int", "format": "ms"},
        {"type": "string", "format": "text"},
        {"type": "timestamp", "format": "seconds"},
        {"type": "double", "one_of": (1,)},
        {"type": "string", "one_of": (1,)},
        {"type": "smallint", "one_of": (1, 70_000)},
        {"type": "int", "one_of": (1, 2**31)},
        {"type": "bigint", "one_of": (2**63,)},
        {"type": "int", "one_of": (True,)},
        {"type": "string", "one_of": ("a", "\ud800")},
        {"type": "int", "pattern": "a"},
        {"type": "string", "pattern": "("},
        {"type": "string", "at_least": "a"},
        {"type": "int", "at_least": "x"},
        {"type": "decimal"},
        {"type": "decimal(39,0)"},
        {"type": "map<int,string>"},
        {"type": "struct<a:int,A:int>"},
        {"type": "array<int"},
        {"type": "long"},
        {"type": "bigint", "part": "timestamp"},
    ],
)
def test_a_declaration_that_means_nothing_is_refused(wrong):
    with pytest.raises(SpecInvalid):
        Field(name="x", **wrong)


@pytest.mark.parametrize("wrong", [{"pattern": "%Q"}, {"pattern": "%H:%M"}, {"zone": "Mars/X"}, {"pattern": "%Y-%m-%d %I"}, {"pattern": "%Y-%m-%d %z", "zone": "UTC"}])  # fmt: skip
def test_a_pattern_or_a_zone_that_is_none_is_refused(wrong):
    with pytest.raises(SpecInvalid):
        Local(**wrong)


PARTED = pytest.mark.parametrize(
    "kind", ["array<string>", "array<bigint>", "struct<a:string>", "map<string,string>"]
)


@PARTED
@pytest.mark.parametrize(
    ("part", "how"),
    [
        ("value", {"format": Csv(columns=("x", "timestamp"))}),
        ("value", {"format": Lines(pattern="(?P<x>.*) (?P<timestamp>.*)")}),
        ("value", {"format": Text()}),
        ("value", {"format": Compressed(by="gzip", format=Csv(columns=("x", "timestamp")))}),
        ("value", {"format": Csv(columns=("x", "timestamp")), "envelope": "cloudevents"}),
        ("key", {}),
        ("key", {"key": Csv(columns=("x",))}),
        ("envelope", {"envelope": "cloudevents"}),
    ],
)
def test_a_field_with_parts_is_refused_where_there_is_text_alone(kind, part, how):
    with fails(SpecInvalid, "fields_refused", fields="type"):
        topic(Field(name="x", type=kind, part=part), **how)
    topic(Field(name="x", type="string", part=part), **how)


@PARTED
def test_a_field_with_parts_is_declared_where_json_has_it(kind):
    topic(Field(name="x", type=kind), envelope="cloudevents")
    topic(Field(name="x", type=kind, part="key"), key=Json())


RULES: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "string", "one_of": ("paid", "placed")}, "paid", "lost"),
    ({"type": "int", "one_of": (1, 2)}, 2, 3),
    ({"type": "string", "pattern": "[A-Z]{2}"}, "DE", "DEU"),
    ({"type": "int", "at_least": 0, "at_most": 9}, 9, 10),
    ({"type": "double", "at_least": 0.5}, 0.5, 0.4),
    ({"type": "decimal(10,2)", "at_most": "9.99"}, 9.99, 10),
    ({"type": "date", "at_least": "2026-01-01"}, "2026-01-01", "2025-12-31"),
    ({"type": "timestamp", "at_least": "2020-01-01", "format": "ms"}, MS, 0),
]


@pytest.mark.parametrize(("rule", "good", "bad"), RULES)
def test_a_value_that_breaks_a_rule_is_malformed_with_field_type_and_rule(rule, good, bad):
    decoder = Decoding(topic(Field(name="x", **rule)))
    assert decoder.row(value(x=good))[1] is None
    why = str(decoder.row(value(x=bad))[1])
    [name] = [name for name in rule if name in why and name not in ("type", "format")][:1]
    assert why.startswith(f"`$.x` is a {rule['type']} that breaks its rule {name}=")
    # Also where nobody wants the column.
    _, reasons = Decoding(topic(Field(name="x", **rule)), ["at"]).columns([value(x=bad)])
    assert reasons == [why]


def test_a_rule_says_nothing_of_a_null():
    field = Field(name="x", type="string", one_of=("a",), required=False)
    assert got(field, None) == (None, "")


KAFKA = (
    Field(name="who", type="bigint", part="key"),
    Field(name="topic", type="string", part="topic"),
    Field(name="partition", type="int", part="partition"),
    Field(name="offset", type="bigint", part="offset"),
    Field(name="sent", type="timestamp", part="timestamp"),
)


def test_kafkas_own_parts_are_fields():
    decoder = Decoding(topic(*KAFKA, event_time="sent"))
    given = records([value()] * 4, [b"7", b"x", None, b"\xff"])
    columns, reasons = decoder.of(given)
    assert [column[0] for column in columns] == [7, "t", 0, 0, SENT, WHEN]
    assert reasons[0] is None
    assert "key" in str(reasons[1])
    assert reasons[2] == "key `who` is missing or null"
    assert reasons[3] == "key: is no UTF-8"
    undated = records([value()], [b"7"], sent=None)
    assert decoder.of(undated)[1] == ["Kafka's timestamp is no time"]


def test_a_key_may_be_json():
    fields = (
        Field(name="id", type="int", part="key", path=("payload.id", "id")),
        Field(name="region", type="string", part="key", required=False),
    )
    decoder = Decoding(topic(*fields, key=Json()))
    keys = [b'{"payload":{"id":1}}', b'{"id":2,"region":"eu"}', b"{", None]
    columns, reasons = decoder.of(records([value()] * 4, keys))
    assert columns[:2] == [[1, 2, None, None], [None, "eu", None, None]]
    assert reasons[:2] == [None, None]
    assert str(reasons[2]).startswith("key: not JSON")
    assert reasons[3] == "key `payload.id` is missing or null"


DEBEZIUM = Topic(
    name="shop.public.orders",
    event_time="changed",
    envelope="debezium",
    fields=(
        Field(name="id", type="bigint"),
        Field(name="status", type="string", required=False),
        Field(name="amount", type="decimal(10,2)", format="base64", required=False),
        Field(name="created_at", type="timestamp", format="us", required=False),
        Field(name="op", type="string", part="envelope", one_of=("c", "u", "d", "r")),
        Field(name="before_status", type="string", part="envelope", path="before.status", required=False),
        Field(name="changed", type="timestamp", part="envelope", path="source.ts_ms", format="ms"),
    ),
    tombstones="dropped",
)  # fmt: skip


def change(op: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op, "source": {"ts_ms": MS, "db": "shop"}}


def row(status: str, cents: int = 1250) -> dict[str, Any]:
    amount = base64.b64encode(cents.to_bytes(4, "big", signed=True)).decode()
    return {"id": 1, "status": status, "amount": amount, "created_at": MS * 1000}


@pytest.mark.parametrize("wrapped", [False, True])
def test_debezium_gives_the_row_after_a_change_and_of_a_delete_the_one_before(wrapped):
    given = [
        change("c", None, row("placed")),
        change("u", row("placed"), row("paid", -5)),
        change("d", row("paid"), None),
        change("u", row("paid"), {"id": 1}),
        change("x", None, row("placed")),
        change("u", None, None),
    ]
    values: list[bytes | None] = [
        json.dumps({"schema": {"type": "struct"}, "payload": each} if wrapped else each).encode()
        for each in given
    ]
    columns, reasons = Decoding(DEBEZIUM).columns([*values, None])
    assert reasons[:4] == [None] * 4
    assert "one_of" in str(reasons[4])
    assert reasons[5] == "`$.id` is missing or null"
    assert reasons[6] is None, "a tombstone is dropped"
    found = [*zip(*columns, strict=True)]
    assert found[0] == (1, "placed", Decimal("12.50"), WHEN, "c", None, WHEN)
    assert found[1] == (1, "paid", Decimal("-0.05"), WHEN, "u", "placed", WHEN)
    assert found[2][:2] == (1, "paid")
    assert found[3] == (1, None, None, None, "u", "paid", WHEN), "nothing is taken from before"
    assert found[6] == (None,) * 7


EVENT = {"specversion": "1.0", "id": "e", "type": "made", "time": "2026-03-01T10:00:00.000Z"}
CLOUD = (
    Field(name="order_id", type="bigint", path="orderId"),
    Field(name="type", type="string", part="envelope"),
    Field(name="time", type="timestamp", part="envelope"),
)


def test_a_cloudevent_has_its_data_and_its_attributes():
    whole = EVENT | {"data": {"orderId": 7}}
    made = Topic(name="c", event_time="time", fields=CLOUD, envelope="cloudevents")
    decoder = Decoding(made)
    wanted = ([[7], ["made"], [datetime(2026, 3, 1, 10, tzinfo=UTC)]], [None])
    assert decoder.columns([json.dumps(whole).encode()]) == wanted
    for bad in ({"specversion": "0.3"}, {"specversion": None}, {"data": None}):
        assert decoder.columns([json.dumps(whole | bad).encode()])[1] != [None], bad


def test_a_tombstone_is_malformed_unless_the_topic_drops_it():
    assert Decoding(topic()).columns([None])[1] == ["tombstone: the value is null"]
    columns, reasons = Decoding(topic(tombstones="dropped")).columns([None, b"", value()])
    assert reasons == [None, "the value is empty", None]
    assert columns == [[None, None, WHEN]]


def changed(was: Topic, now: Topic) -> dict[str, str]:
    before = fingerprint(pipeline(topic=was, steps=STEPS), SPARK)
    spec = pipeline(topic=now, steps=STEPS)
    return {
        each.field: each.weight
        for each in changes(before, fingerprint(spec, SPARK), Declared(spec))
    }


STEPS = pipeline().steps


@pytest.mark.parametrize(
    ("was", "now", "weights"),
    [
        ({}, {"path": "Id"}, {"topic.fields.id.path": "refused"}),
        ({"path": "Id"}, {"path": ("Id", "id")}, {"topic.fields.id.path": "warned"}),
        ({}, {"path": ("id", "Id")}, {"topic.fields.id.path": "warned"}),
        ({"path": "Id"}, {"path": ("id", "Id")}, {"topic.fields.id.path": "warned"}),
        ({"path": "id"}, {}, {}),
        ({}, {"one_of": ("a",)}, {}),
    ],
)
def test_where_a_field_is_is_in_the_fingerprint_and_a_name_more_may_come_behind(was, now, weights):
    others = (
        Field(name="at", type="timestamp"),
        Field(name="shop", type="string"),
        Field(name="amount", type="bigint", required=False),
    )
    made = [
        Topic(name="s", event_time="at", fields=(Field(name="id", type="string", **how), *others))
        for how in (was, now)
    ]
    assert changed(*made) == weights


def test_a_batch_that_a_killed_run_left_is_counted_by_the_rules_that_it_was_decoded_with():
    """Through what identity.json keeps."""
    fields = (
        Field(name="id", type="string", path=("Id", "id"), one_of=("a", "b")),
        Field(name="n", type="int", at_least=0, at_most=9),
    )
    was = pipeline(topic=topic(*fields, tombstones="dropped"), steps=(Transform(where="true"),))
    bare = tuple(Field(name=each.name, type=each.type) for each in fields)
    now = was.model_copy(update={"topic": topic(*bare)})
    kept = Classification.model_validate_json(classification(was).model_dump_json())
    assert with_classification(now, kept, other_code=False) == was
    plain = Classification.model_validate_json(classification(now).model_dump_json())
    assert with_classification(was, plain, other_code=False) == now


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "binary": st.binary(),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "timestamp_ntz": st.datetimes(),
    "decimal(9,3)": st.decimals(-999_999, 999_999, places=3),
}


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> tuple[str, st.SearchStrategy[Any]]:
    """A type, and its values as Arrow gives them."""
    kind = draw(st.sampled_from(["scalar", "array", "map", "struct"] if depth else ["scalar"]))
    if kind == "scalar":
        name = draw(st.sampled_from([*SCALARS]))
        return name, SCALARS[name]
    if kind == "struct":
        members = [
            (name, *draw(typed(depth - 1))) for name in draw(st.sampled_from([("a",), ("a", "bC")]))
        ]
        text = ",".join(f"{name}:{of}" for name, of, _ in members)
        return f"struct<{text}>", st.fixed_dictionaries(
            {name: st.none() | of for name, _, of in members}
        )
    inner, values = draw(typed(depth - 1))
    if kind == "array":
        return f"array<{inner}>", st.lists(st.none() | values, max_size=3)
    pairs = st.lists(
        st.tuples(SCALARS["string"], st.none() | values), max_size=3, unique_by=lambda pair: pair[0]
    )
    return f"map<string,{inner}>", pairs.map(Pairs)


class Pairs(list[tuple[str, Any]]):
    """A map, as Arrow gives it."""


def unmarked(record: bytes) -> bytes:
    """With its decimals as numbers."""
    return re.sub(rb'"@(-?[0-9.]+)@"', rb"\1", record)


def written(given: Any) -> Any:
    """As a producer writes it: by Python's json, another library than the decoder's."""
    if isinstance(given, bytes):
        return base64.b64encode(given).decode()
    if isinstance(given, datetime | date):
        return given.isoformat()
    if isinstance(given, Decimal):
        return f"@{given:f}@"  # Python's json writes no decimals: `unmarked` does
    if isinstance(given, dict):
        return {name: written(each) for name, each in given.items()}
    if isinstance(given, Pairs):
        return {name: written(each) for name, each in given}
    return [written(each) for each in given] if isinstance(given, list) else given


@given(st.data(), typed())
def test_values_of_any_type_come_back_equal_from_another_librarys_writer(data, of):
    kind, values = of
    rows = data.draw(st.lists(values, min_size=1, max_size=4))
    field = Field(name="x", type=kind, path="data.inner[0].x")
    given = [unmarked(value(data={"inner": [{"x": written(row)}]})) for row in rows]
    columns, reasons = Decoding(topic(field)).columns(given)
    assert reasons == [None] * len(rows)
    assert columns[0] == rows


NESTED = topic(
    Field(name="a", type="struct<x:int,y:array<timestamp>>", required=False),
    Field(name="b", type="decimal(6,2)", path="user.b[1]", required=False),
    Field(name="c", type="string", path=("user.c", "C"), one_of=("p", "q")),
    Field(name="d", type="map<string,double>", path="user.d", required=False),
    Field(name="e", type="timestamp", path="user.e", format=BERLIN, required=False),
)
WHOLE = value(
    a={"x": 1, "y": ["2026-03-01T10:00:00Z"]},
    user={"b": [0, 1.25], "c": "p", "d": {"k": 1}, "e": "2026-03-01 10:00:00"},
)


@given(st.data())
def test_mutated_bytes_are_malformed_with_a_reason_or_what_json_reads(data):
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    put = data.draw(st.binary(max_size=3))
    mutated = WHOLE[:at] + put + WHOLE[at + data.draw(st.integers(0, 3)) :]
    decoder = Decoding(NESTED)
    columns, reasons = decoder.columns([WHOLE, mutated, WHOLE])
    assert (reasons[0], reasons[2]) == (None, None)
    assert [column[0] for column in columns] == [column[2] for column in columns]
    if reasons[1] is None:
        read = json.loads(mutated)
        assert columns[2][1] in (read.get("user", {}).get("c"), read.get("C"))
        assert columns[5][1] == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
            milliseconds=int(read["timestamp"])
        )
    else:
        assert 0 < len(reasons[1]) < 200
        assert [column[1] for column in columns] == [None] * len(columns)


TRUNCATE = "a truncate: all rows of the source's table are gone, and none of them is named"


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("by", [None, "gzip"])
def test_a_truncate_and_a_message_are_named_though_they_have_no_row(required, by):
    """Also where no field of the row must be there, beside what is malformed of itself, and for who
    wants no field of the row: a replay looks for records by their time alone.
    """
    fields = tuple(each.model_copy(update={"required": required} if each.part == "value" else {"one_of": ()}) for each in DEBEZIUM.fields if each.name in ("id", "op", "changed"))  # fmt: skip
    changes: dict[str, Any] = {"fields": fields} | ({"format": Compressed(by=by)} if by else {})
    of = DEBEZIUM.model_copy(update=changes)
    gone = change("t", None, None)
    given = [change("c", None, row("a")), gone, {"payload": gone}, change("m", None, None), {"op": "t"}]  # fmt: skip
    values = [json.dumps(each).encode() for each in given]
    values = [*(gzip.compress(each) if by else each for each in values), b"t"]
    _, reasons = Decoding(of).columns(values)
    assert Decoding(of, [of.event_time]).columns(values)[1] == reasons
    assert [why == TRUNCATE for why in reasons] == [False, True, True, False, True, False]
    assert reasons[0] is None
    assert reasons[3] == "a message of the source's log, which is no change of a row"


def test_a_truncate_in_avro_is_named():
    row_ = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}
    parts = [
        {"name": "before", "type": ["null", row_]},
        {"name": "after", "type": ["null", "Row"]},
        {"name": "op", "type": "string"},
        {"name": "ts", "type": "long"},
    ]
    schema = {"type": "record", "name": "Envelope", "fields": parts}
    fields = (Field(name="id", type="bigint"), Field(name="changed", type="timestamp", part="envelope", path="ts", format="ms"))  # fmt: skip
    of = Topic(name="t", envelope="debezium", event_time="changed", fields=fields, format=Avro(writer=json.dumps(schema)))  # fmt: skip
    given = [{"before": None, "after": {"id": 7}, "op": "c", "ts": MS}, {"before": None, "after": None, "op": "t", "ts": MS}]  # fmt: skip
    values = []
    for each in given:
        fastavro.schemaless_writer(out := io.BytesIO(), schema, each)
        values.append(out.getvalue())
    assert Decoding(of).columns(values) == ([[7, None], [WHEN, None]], [None, TRUNCATE])
