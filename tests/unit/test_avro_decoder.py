"""The Avro decoder through the port: by the registry's ids, by a declared schema, into the fields."""

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.decode.record_decoder import prepare
from spark_jobs.decode.schemas.registry import Registered
from spark_jobs.decode.schemed.registered import Given
from spark_jobs.errors import RegistryUnreachable, SpecInvalid
from spark_jobs.spec import Avro, Field, Topic
from tests.harness.refused import fails, has
from tests.harness.schemas import avro, by_fastavro, framed, keep
from tests.unit.decoding import records

AT = datetime(2026, 11, 26, 10, 0, 0, 250_000, tzinfo=UTC)


def order(unit: str = "millis", **more: Any) -> dict[str, Any]:
    """A schema; `more` fields behind the others."""
    fields: dict[str, Any] = {
        "order_id": "string",
        "created_at": {"type": "long", "logicalType": f"timestamp-{unit}"},
        "amount": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        **more,
    }
    return {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


ORDER = {"order_id": "o-1", "created_at": AT, "amount": Decimal("12.50")}
FIELDS = (
    Field(name="order_id", type="string"),
    Field(name="created_at", type="timestamp"),
    Field(name="amount", type="decimal(9,2)"),
)


def topic(*more: Field, format_: Avro | None = None) -> Topic:
    return Topic(
        name="orders",
        fields=(*FIELDS, *more),
        event_time="created_at",
        format=format_ or Avro(registry="main"),
    )


def decoded(
    root: Path, given: Topic, values: list[bytes | None], wanted: list[str] | None = None
) -> tuple[list[tuple[Any, ...]], list[str | None]]:
    prepared = pickle.loads(pickle.dumps(prepare(given, str(root), None, wanted)))
    columns, reasons = prepared.decoder().decode(records(values))
    return [*zip(*(column.to_pylist() for column in columns), strict=True)], [*reasons]


def test_a_batch_of_several_schemas_is_one_table(tmp_path):
    newer = order("micros", coupon=["null", "string"])
    keep(tmp_path, {7: avro(order()), 9: avro(newer), 11: None})
    values = [
        framed(7, by_fastavro(order(), ORDER)),
        framed(9, by_fastavro(newer, {**ORDER, "coupon": "BF26"})),
        None,
        framed(11, b""),
        framed(7, by_fastavro(order(), ORDER)),
        framed(9, by_fastavro(newer, {**ORDER, "coupon": None})),
        b"",
        b"{}",
        framed(2**31, b""),
        framed(7, b"\x02"),
    ]
    rows, reasons = decoded(
        tmp_path, topic(Field(name="coupon", type="string", required=False)), values
    )
    good = ("o-1", AT, Decimal("12.50"))
    nulls = (None,) * 4
    assert rows == [
        (*good, None),
        (*good, "BF26"),
        nulls,
        nulls,
        (*good, None),
        (*good, None),
        *[nulls] * 4,
    ]
    assert reasons == [
        None,
        None,
        "tombstone: the value is null",
        "the registry has no schema 11",
        None,
        None,
        "the value is empty",
        "it does not begin with the id of a schema: a byte 0 and four of the id",
        "it does not begin with the id of a schema: a byte 0 and four of the id",
        "`$.order_id`: the value ends in it (schema 7)",
    ]


def test_an_id_that_nobody_asked_for_ends_the_run_and_is_no_reason(tmp_path):
    prepared = prepare(topic(), str(tmp_path), None)._replace(given=(Given({}, whole=True), None))
    with fails(RegistryUnreachable, "schema_not_kept", number="7"):
        prepared.decoder().decode(records([framed(7, b"x")]))
    # A page, which asks no registry, shows the reason.
    _, reasons = decoded(tmp_path, topic(), [framed(7, b"x")])
    assert reasons == ["schema 7 is not kept here"]


def test_a_schema_of_another_kind_makes_its_records_malformed(tmp_path):
    keep(tmp_path, {7: Registered("JSON", "{}", ())})
    _, reasons = decoded(tmp_path, topic(), [framed(7, b"{}")])
    assert reasons == ["its schema is of JSON, not of AVRO (schema 7)"]


def test_records_without_ids_have_the_declared_schema(tmp_path):
    given = topic(format_=Avro(reader=json.dumps(order())))
    rows, reasons = decoded(tmp_path, given, [by_fastavro(order(), ORDER), b"", None])
    assert rows[0] == ("o-1", AT, Decimal("12.50"))
    assert reasons[1:] == ["the value is empty", "tombstone: the value is null"]


def test_a_declared_reader_gives_defaults_and_names(tmp_path):
    reader = order(source={"type": "string"})
    reader["fields"][-1]["default"] = "web"
    reader["fields"][0] = {"name": "id", "type": "string", "aliases": ["order_id"]}
    keep(tmp_path, {7: avro(order())})
    fields = (
        Field(name="order_id", type="string", path="id"),
        *FIELDS[1:],
        Field(name="source", type="string"),
    )
    given = Topic(
        name="orders",
        fields=fields,
        event_time="created_at",
        format=Avro(registry="main", reader=json.dumps(reader)),
    )
    rows, _ = decoded(tmp_path, given, [framed(7, by_fastavro(order(), ORDER))])
    assert rows == [("o-1", AT, Decimal("12.50"), "web")]


NESTED = order(
    user=["null", {"type": "record", "name": "User", "fields": [{"name": "id", "type": "int"}]}],
    tags={"type": "array", "items": "string"},
    day={"type": "int", "logicalType": "date"},
    at_ms="long",
    text="string",
    word="string",
    large="long",
    sent={"type": "long", "logicalType": "timestamp-micros"},
    price={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    extra={"type": "map", "values": "double"},
    times={"type": "array", "items": {"type": "long", "logicalType": "timestamp-millis"}},
)
VALUES = {
    **ORDER,
    "user": {"id": 7},
    "tags": ["a", "b"],
    "day": date(2026, 11, 26),
    "at_ms": 1,
    "large": 2**53 + 1,
    "word": "x",
    "sent": AT,
    "price": Decimal("12.50"),
    "text": "2026-11-26T10:00:00Z",
    "extra": {"x": 1.5},
    "times": [AT],
}
KINDS: list[tuple[Field, Any]] = [
    (Field(name="x", type="int", path="user.id"), 7),
    (Field(name="x", type="string", path="tags[1]"), "b"),
    (Field(name="x", type="string", path="tags[5]", required=False), None),
    (Field(name="x", type="string", path=("nothing", "word")), "x"),
    (Field(name="x", type="string", path="word.z", required=False), None),
    (Field(name="x", type="string", path=("user.none", "tags[5]", "word")), "x"),
    (Field(name="x", type="date", path="day"), date(2026, 11, 26)),
    (
        Field(name="x", type="timestamp", path="at_ms", format="ms"),
        datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC),
    ),
    (Field(name="x", type="timestamp", path="text"), datetime(2026, 11, 26, 10, tzinfo=UTC)),
    (Field(name="x", type="array<string>", path="tags"), ["a", "b"]),
    (Field(name="x", type="map<string,double>", path="extra"), [("x", 1.5)]),
    (Field(name="x", type="struct<id:bigint>", path="user"), {"id": 7}),
    (Field(name="x", type="array<timestamp>", path="times"), [AT]),
    (Field(name="x", type="string", path="user", format="json"), '{"id":7}'),
    (Field(name="x", type="smallint", path="at_ms"), 1),
    (Field(name="x", type="double", path="at_ms"), 1.0),
]


@pytest.mark.parametrize(("field", "value"), KINDS, ids=lambda each: getattr(each, "type", ""))
def test_a_field_of_any_type_at_any_path(tmp_path, field, value):
    keep(tmp_path, {7: avro(NESTED)})
    rows, reasons = decoded(tmp_path, topic(field), [framed(7, by_fastavro(NESTED, VALUES))])
    assert (reasons, rows[0][-1]) == ([None], value)


WRONG = [
    (Field(name="x", type="int", path="word"), "`$.word` is text, not int"),
    (Field(name="x", type="string", path="at_ms"), "`$.at_ms` is a whole number, not string"),
    (
        Field(name="x", type="string", path="user.name"),
        "Object missing required field `user.name`, or it is null",
    ),
    (Field(name="x", type="bigint", path="sent"), "`$.sent` is a timestamp, not bigint"),
    (
        Field(name="x", type="decimal(3,2)", path="price"),
        "`$.price` is a number that decimal(3,2) has not",
    ),
    (Field(name="x", type="array<int>", path="tags"), "`$.tags` is text, not int"),
    (Field(name="x", type="int", path="large"), "`$.large` is a number out of range of int"),
    (Field(name="x", type="double", path="large"), "`$.large` is a number that double would round"),
    (Field(name="x", type="timestamp", path="at_ms"), "`$.at_ms` is a whole number, not timestamp"),
]


@pytest.mark.parametrize(("field", "why"), WRONG, ids=lambda each: getattr(each, "path", ""))
@pytest.mark.parametrize("wanted", [None, ["created_at"]], ids=["all", "one"])
def test_a_value_of_another_type_is_malformed_also_where_nobody_wants_it(
    tmp_path, field, why, wanted
):
    keep(tmp_path, {7: avro(NESTED)})
    value = framed(7, by_fastavro(NESTED, VALUES))
    _, reasons = decoded(tmp_path, topic(field), [value], wanted)
    assert reasons == [why]


def test_times_outside_the_years_of_spark_are_malformed(tmp_path):
    keep(tmp_path, {7: avro(order())})
    far = b"\x06o-1" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x04\x04\xe2"
    _, reasons = decoded(tmp_path, topic(), [framed(7, far)])
    assert reasons == [
        "`$.created_at` is a number that is no time of the years 1 to 9999 in milliseconds since 1970"
    ]


CDC = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", order()]},
        {"name": "after", "type": ["null", "shop.Order"]},
        {"name": "op", "type": "string"},
    ],
}


def test_an_envelope_of_changes_gives_the_row_after_or_before(tmp_path):
    keep(tmp_path, {7: avro(CDC)})
    given = Topic(
        name="orders",
        fields=(*FIELDS, Field(name="op", type="string", part="envelope")),
        event_time="created_at",
        format=Avro(registry="main"),
        envelope="debezium",
    )
    made = {"before": None, "after": ("shop.Order", ORDER), "op": "c"}
    gone = {"before": ("shop.Order", {**ORDER, "order_id": "o-0"}), "after": None, "op": "d"}
    none = {"before": None, "after": None, "op": "m"}
    values = [framed(7, by_fastavro(CDC, each)) for each in (made, gone, none)]
    rows, reasons = decoded(tmp_path, given, [*values])
    assert [reason is None for reason in reasons] == [True, True, False]
    assert rows[:2] == [("o-1", AT, Decimal("12.50"), "c"), ("o-0", AT, Decimal("12.50"), "d")]


def test_a_key_has_a_format_of_its_own(tmp_path):
    key = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}
    keep(tmp_path, {3: avro(key), 7: avro(order())})
    given = Topic(
        name="orders",
        fields=(*FIELDS, Field(name="id", type="bigint", part="key")),
        event_time="created_at",
        format=Avro(registry="main"),
        key=Avro(registry="main"),
    )
    of = records([framed(7, by_fastavro(order(), ORDER))], [framed(3, by_fastavro(key, {"id": 5}))])
    columns, reasons = prepare(given, str(tmp_path), None).decoder().decode(of)
    assert ([*reasons], columns[-1].to_pylist()) == ([None], [5])


def test_declarations_are_refused_in_words(tmp_path):
    with fails(SpecInvalid, "fields_refused", fields="registry"):
        Avro()
    with fails(SpecInvalid, "fields_refused", fields="registry"):
        Avro(registry="A/B")
    with fails(SpecInvalid, "no_avro_schema", name="reader"):
        prepare(topic(format_=Avro(registry="main", reader='"X"')), str(tmp_path), None)
    with fails(SpecInvalid, "no_avro_schema", error=has("it is no JSON")):
        prepare(topic(format_=Avro(registry="main", reader='{"type":')), str(tmp_path), None)
    with fails(SpecInvalid, "fields_refused", fields="reader"):
        Avro(registry="main", reader="orders-value")
