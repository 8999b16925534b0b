"""Whole columns of Avro, held against the decoder that reads one by one, which is held against
fastavro (test_avro_compiled.py).
"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.decode.avro.records import SchemaReader
from spark_jobs.decode.schemed.objects import Objects
from spark_jobs.schemas.avro import parse
from spark_jobs.schemas.schema import Schema
from spark_jobs.spec import Field
from spark_jobs.spec.fields.place import value_places
from tests.harness.schemas import by_fastavro
from tests.unit.decoding import alike, changed_at_each_byte

Kinds = list[tuple[str, str | None]]
"""Type and format of fields that can be of a type."""
AT = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - some have no zone
ZONED = AT.map(lambda at: at.replace(tzinfo=UTC))
HUNDREDTHS = st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2))
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300) | st.integers(-(2**33), 2**33)
DECIMALS: Kinds = [("decimal(9,2)", None), ("decimal(12,4)", None), ("decimal(5,2)", None)]


def logical(of: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": of, "logicalType": name, **more}


CENTS = {"precision": 9, "scale": 2}
LEAVES: list[tuple[Any, st.SearchStrategy[Any], Kinds]] = [
    ("boolean", st.booleans(), [("boolean", None)]),
    (
        "int",
        st.integers(-(2**31), 2**31 - 1) | st.integers(-99, 99),
        [("int", None), ("smallint", None), ("bigint", None), ("float", None), ("timestamp", "s")],
    ),
    ("long", NUMBERS, [("bigint", None), ("int", None), ("double", None), ("timestamp", "ms"), ("decimal(9,2)", None)]),
    ("float", st.floats(width=32), [("float", None), ("double", None)]),
    ("double", st.floats(), [("double", None), ("float", None)]),
    ("bytes", st.binary(max_size=90), [("binary", None)]),
    ("string", st.text(max_size=90) | st.sampled_from(["7", "2026-11-26T10:00:00Z", "-0"]), [("string", None), ("int", "text"), ("timestamp", None)]),
    (logical("int", "date"), st.dates(), [("date", None)]),
    *[(logical("long", f"timestamp-{unit}"), ZONED, [("timestamp", None)]) for unit in ("millis", "micros")],
    (logical("long", "timestamp-nanos"), NUMBERS, [("timestamp", None)]),
    (logical("long", "local-timestamp-micros"), AT, [("timestamp_ntz", None)]),
    (logical("bytes", "decimal", **CENTS), HUNDREDTHS, DECIMALS),
]  # fmt: skip


@st.composite
def leaf(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Any], Kinds]:
    kind = draw(st.sampled_from(["leaf"] * 5 + ["enum", "fixed", "decimal"]))
    name = f"n{draw(st.uuids()).hex}"
    if kind == "enum":
        made = {"type": "enum", "name": name, "symbols": ["a", "b", "c"]}
        return made, st.sampled_from("abc"), [("string", None)]
    if kind == "fixed":
        made = {"type": "fixed", "name": name, "size": 3}
        return made, st.binary(min_size=3, max_size=3), [("binary", None)]
    if kind == "decimal":
        made = {"type": "fixed", "name": name, "size": 5, "logicalType": "decimal", **CENTS}
        return made, HUNDREDTHS, DECIMALS
    return draw(st.sampled_from(LEAVES))


@st.composite
def record(draw: st.DrawFn, path: str = "") -> tuple[Any, st.SearchStrategy[Any], list[Field]]:
    """A schema, values of it, and fields of a topic."""
    members, values, fields = [], {}, []
    for number in range(draw(st.integers(1, 4))):
        name = f"f{number}"
        if not path and draw(st.integers(0, 3)) == 0:
            kind, given, inner = draw(record(f"{name}."))
            fields += inner
        else:
            kind, given, kinds = draw(leaf())
            type_, format_ = draw(st.sampled_from(kinds))
            made = Field(
                name=f"x{len(fields)}{name}{path.replace('.', '')}", type=type_, format=format_,
                path=path + name, required=draw(st.booleans()),
            )  # fmt: skip
            fields += [made] * draw(st.integers(0, 1))
        if draw(st.booleans()):
            nulled = ["null", kind] if draw(st.booleans()) else [kind, "null"]
            kind, given = nulled, st.none() | given
        members.append({"name": name, "type": kind})
        values[name] = given
    schema = {"type": "record", "name": f"R{draw(st.uuids()).hex}", "fields": members}
    return schema, st.fixed_dictionaries(values), fields


def changed(draw: Any, value: bytes) -> bytes:
    mutable = bytearray(value)
    for _ in range(draw(st.integers(0, 2))):
        where = draw(st.integers(0, len(mutable)))
        how = draw(st.sampled_from(["cut", "put", "set"]))
        byte = draw(st.integers(0, 255))
        mutable[where : where + (how != "put")] = b"" if how == "cut" else bytes([byte])
    return bytes(mutable)


def reader(schema: Any, fields: list[Field], reads: Any = None) -> tuple[SchemaReader, Objects]:
    objects = Objects(value_places(fields, None), [field.name for field in fields])
    node = parse(json.dumps(reads)) if reads else None
    return SchemaReader(Schema("AVRO", json.dumps(schema), (), None), node, objects), objects


def both(schema: Any, fields: list[Field], values: list[bytes], reads: Any = None) -> list[bool]:
    """Of which records the columns are sure. They say then what the other decoder says."""
    by, objects = reader(schema, fields, reads)
    assert by.at_once is not None
    return alike(by, objects, values)


@settings(max_examples=40, deadline=None)
@given(record(), st.data())
def test_good_records_are_read_at_once_and_as_one_by_one(given, data):
    schema, values, fields = given
    written = [by_fastavro(schema, each) for each in data.draw(st.lists(values, max_size=4))]
    by, _ = reader(schema, fields)
    if fields:
        assert by.at_once is not None
    assert all(both(schema, fields, written))


@settings(max_examples=40, deadline=None)
@given(record(), st.data())
def test_changed_bytes_are_never_good_where_the_other_decoder_refuses_them(given, data):
    schema, values, fields = given
    drawn = data.draw(st.lists(values, min_size=1, max_size=4))
    both(schema, fields, [changed(data.draw, by_fastavro(schema, each)) for each in drawn])


EVERY = {
    "type": "record",
    "name": "Every",
    "fields": [
        *({"name": f"f{n}", "type": kind} for n, (kind, _, _) in enumerate(LEAVES)),
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["a", "b", "c"]}},
        {"name": "o", "type": ["null", {"type": "fixed", "name": "F", "size": 3}]},
        {"name": "s", "type": {"type": "record", "name": "S", "fields": [{"name": "x", "type": ["string", "null"]}]}},
    ],
}  # fmt: skip
VALUES = [True, 70_000, 2**40, 1.5, -2.5, b"\xff\x00", "é", date(2026, 11, 26)]
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
VALUES += [NOON, NOON, 2**60, NOON.replace(tzinfo=None), Decimal("12.50")]


def test_a_record_with_any_byte_changed_is_read_alike():
    fields = [
        Field(name=f"f{n}", type=kinds[0][0], format=kinds[0][1])
        for n, (_, _, kinds) in enumerate(LEAVES)
    ]
    fields += [
        Field(name="e", type="string"),
        Field(name="o", type="binary", required=False),
        Field(name="x", type="string", path="s.x", required=False),
    ]
    value = {f"f{n}": each for n, each in enumerate(VALUES)} | {"e": "b"}
    good = by_fastavro(EVERY, {**value, "o": b"abc", "s": {"x": "z"}})
    both(EVERY, fields, changed_at_each_byte(good))
    by, _ = reader(EVERY, fields)
    assert by.at_once is not None
    assert by.at_once.columns(pa.array([good]), 0).which.all()


def of(*fields: tuple[Any, ...], name: str = "O") -> dict[str, Any]:
    """A record; of each field its name, type, and the rest."""
    made = [{"name": each[0], "type": each[1], **(each[2] if each[2:] else {})} for each in fields]
    return {"type": "record", "name": name, "fields": made}


ABC = {"type": "enum", "name": "E", "symbols": ["a", "b", "c"]}
WROTE = of(("a", "int"), ("b", ["null", "string"]), ("e", ABC), ("s", of(("x", "float"), name="S")))
ROWS = [
    {"a": 7, "b": None, "e": "a", "s": {"x": 1.5}},
    {"a": -70_000, "b": "é", "e": "c", "s": {"x": -0.0}},
]
X, A = Field(name="x", type="double", path="s.x"), Field(name="a", type="bigint")
B, E = Field(name="b", type="string", required=False), Field(name="e", type="string")
READ: dict[str, tuple[Any, list[Field], list[bool]]] = {
    "as it is": (WROTE, [A, B, X, E], [True, True]),
    "fields in another order, and fewer": (of(*[("b", ["null", "string"]), ("a", "int")]), [A, B], [True, True]),
    "wider numbers": (of(("a", "long"), ("s", of(("x", "double"), name="S"))), [A, X], [True, True]),
    "another name": (of(("n", "int", {"aliases": ["a"]})), [Field(name="n", type="int")], [True, True]),
    "a default": (
        of(("a", "int"), ("d", "string", {"default": "web"}), ("n", ["null", "int"], {"default": None})),
        [A, Field(name="d", type="string"), Field(name="n", type="int", required=False)],
        [True, True],
    ),
    "a null that the reader has not": (of(("b", "string")), [B], [False, True]),
    "a field that must be there": (WROTE, [Field(name="b", type="string")], [False, True]),
    "the first of two paths": (WROTE, [Field(name="y", type="string", path=("b", "e"))], [True, True]),
    "a path that is not there": (WROTE, [Field(name="y", type="int", path="a.z", required=False), A], [True, True]),
    "a number that the field has not": (WROTE, [Field(name="a", type="smallint")], [True, False]),
}  # fmt: skip
LEFT: dict[str, tuple[Any, Any, list[Field]]] = {
    "an array": (of(("a", "int"), ("l", {"type": "array", "items": "int"})), None, [A]),
    "a map": (of(("a", "int"), ("m", {"type": "map", "values": "int"})), None, [A]),
    "a wider union": (of(("a", "int"), ("u", ["null", "int", "string"])), None, [A]),
    "itself": (of(("a", "int"), ("o", ["null", "O"])), None, [A]),
    "no record": (["int", of(("a", "int"))], None, [A]),
    "a whole number read as a float": (of(("x", "long")), of(("x", "double")), [Field(name="x", type="double")]),
    "text read as bytes": (of(("x", "string")), of(("x", "bytes")), [Field(name="x", type="binary")]),
    "a symbol that the reader lacks": (of(("e", ABC)), of(("e", {**ABC, "symbols": ["a"]})), [E]),
    "no default": (WROTE, of(("a", "int"), ("z", "int")), [A]),
    "a default with parts": (WROTE, of(("a", "int"), ("z", of(("y", "int"), name="Z"), {"default": {"y": 1}})), [A]),
    "an object as a field": (WROTE, None, [Field(name="s", type="struct<x:float>")]),
    "an object as JSON": (WROTE, None, [Field(name="s", type="string", format="json")]),
    "a field of another type": (WROTE, None, [Field(name="b", type="int", required=False)]),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_readers_schema_is_read_at_once(name):
    reads, fields, sure = READ[name]
    values = [by_fastavro(WROTE, each) for each in ROWS]
    by, _ = reader(WROTE, fields, reads)
    assert by.at_once is not None
    _, which = by.at_once.columns(pa.array(values), 0)
    assert which.tolist() == sure
    both(WROTE, fields, values, reads)


@pytest.mark.parametrize("name", LEFT)
def test_what_has_no_columns_is_left_to_the_other_decoder(name):
    wrote, reads, fields = LEFT[name]
    assert reader(wrote, fields, reads)[0].at_once is None


def test_a_number_beyond_its_32_bits_is_left_to_the_other_decoder():
    by, objects = reader(of(("a", "int")), [A])
    values = [b"\xfe\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x10"]
    assert by.at_once is not None
    assert by.at_once.columns(pa.array(values), 0).which.tolist() == [True, False]
    alike(by, objects, values)


def test_what_nobody_wants_is_not_judged_however_deep_it_is():
    days = logical("int", "date")
    inner = of(("at", days), ("all", {"type": "array", "items": days}), name="S")
    by, objects = reader(of(("a", "int"), ("s", inner)), [A])
    far = b"\xfe\xff\xff\xff\x0f"  # the day 2**31 - 1
    read = by.read([b"\x02" + far + b"\x02" + far + b"\0"], 0)
    assert objects.columns(read, 1)[1] == [None]


def test_a_schema_may_say_any_size_of_its_fixed():
    for size in (2**31, 2**63, 2**64):
        by, _ = reader(of(("f", {"type": "fixed", "name": "F", "size": size}), ("a", "int")), [A])
        assert by.at_once is not None
        assert by.at_once.columns(pa.array([b"abc\2"]), 0).which.tolist() == [False]


@pytest.mark.parametrize(("kind", "most"), [("double", 2**53 - 1), ("float", 2**24 - 1)])
def test_a_whole_number_that_a_float_may_round_is_left_to_the_other_decoder(kind, most):
    by, objects = reader(of(("a", "long")), [Field(name="a", type=kind)])
    # 2**63 - 1 is 2**63 as a float: each processor makes another whole number of that.
    values = [by_fastavro(of(("a", "long")), {"a": each}) for each in (most, 2**62, 2**63 - 1)]
    assert by.at_once is not None
    assert by.at_once.columns(pa.array(values), 0).which.tolist() == [True, False, False]
    alike(by, objects, values)


def test_types_that_have_each_other_many_times_have_no_columns():
    kind: Any = "int"
    for depth in range(12):
        kind = of(
            *((f"f{n}", kind if n == 0 or not depth else f"D{depth - 1}") for n in range(9)),
            name=f"D{depth}",
        )
    assert reader(of(("a", "int"), ("deep", kind)), [A])[0].at_once is None


def test_a_part_of_an_array_of_arrow_is_read_from_its_own_bytes():
    by, _ = reader(WROTE, [A])
    assert by.at_once is not None
    values = pa.array([None, b"xx", *(b"head" + by_fastavro(WROTE, each) for each in ROWS)])
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        columns, which = by.at_once.columns(values.cast(kind)[1:], 4)
        assert which.tolist() == [False, True, True]
        assert columns[0].to_pylist()[1:] == [7, -70_000]


@pytest.mark.parametrize("there", ["before", "after", None])
def test_the_row_of_a_change_is_the_first_that_is_there(there):
    wrote = of(("before", ["null", of(("a", "int"), name="Row")]), ("after", ["null", "Row"]))
    objects = Objects(value_places([A], "debezium"), ["a"])
    by = SchemaReader(Schema("AVRO", json.dumps(wrote), (), None), None, objects)
    value = by_fastavro(
        wrote, {"before": None, "after": None} | ({there: {"a": 5}} if there else {})
    )
    assert by.at_once is not None
    [column], which = by.at_once.columns(pa.array([value]), 0)
    assert (column.to_pylist(), which.tolist()) == ([5 if there else None], [there is not None])
