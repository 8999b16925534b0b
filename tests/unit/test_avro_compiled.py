"""The Avro decoder's core, held against fastavro, which writes and reads, and Apache's avro."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import avro.io
import avro.schema
import fastavro
import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.avro.decoder import Compiled, compiled
from spark_jobs.decode.schemas.avro import Node, SchemaInvalid, parse

REFUSED = (ValueError, IndexError, OverflowError, RecursionError)
SMALL = st.text(max_size=5)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=9)),
    ("string", SMALL),
    ({"type": "int", "logicalType": "date"}, st.dates()),
    (
        {"type": "long", "logicalType": "timestamp-micros"},
        st.datetimes(
            timezones=st.just(UTC),
            min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
        ),
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    ),
]


@st.composite
def typed(  # noqa: PLR0911 - a line for each kind
    draw: st.DrawFn, depth: int = 2
) -> tuple[Any, st.SearchStrategy[Any]]:
    """An Avro type, and values of it."""
    kind = draw(
        st.sampled_from(["leaf"] * 3 + ["record", "array", "map", "union", "enum", "fixed"])
    )
    name = f"n{draw(st.uuids()).hex}"
    if kind == "enum":
        symbols = ["a", "b", "c"]
        return {"type": "enum", "name": name, "symbols": symbols}, st.sampled_from(symbols)
    if kind == "fixed":
        return {"type": "fixed", "name": name, "size": 3}, st.binary(min_size=3, max_size=3)
    if kind == "leaf" or not depth:
        return draw(st.sampled_from(LEAVES))
    inner, values = draw(typed(depth - 1))
    if kind == "array":
        return {"type": "array", "items": inner}, st.lists(values, max_size=3)
    if kind == "map":
        return {"type": "map", "values": inner}, st.dictionaries(SMALL, values, max_size=3)
    if kind == "union":
        if isinstance(inner, list) or inner == "null":
            return inner, values
        return ["null", inner], st.none() | values
    return draw(record(depth - 1, name))


@st.composite
def record(
    draw: st.DrawFn, depth: int = 2, name: str = "Top"
) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    fields = [draw(typed(depth)) for _ in range(draw(st.integers(1, 4)))]
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{n}", "type": kind} for n, (kind, _) in enumerate(fields)],
    }
    return schema, st.fixed_dictionaries({f"f{n}": v for n, (_, v) in enumerate(fields)})


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def reader(wrote: Any, reads: Any = None) -> tuple[Compiled, list[str]]:
    writer = parse(json.dumps(wrote))
    node: Node = parse(json.dumps(reads)) if reads else writer
    names = [field.name for field in node.fields]
    return compiled(writer, node, names, ()), names


def read(value: bytes, wrote: Any, reads: Any = None) -> dict[str, Any]:
    decoder, names = reader(wrote, reads)
    return dict(zip(names, decoder.decode(value), strict=True))


def refused(value: bytes, wrote: Any, reads: Any = None) -> str:
    decoder, _ = reader(wrote, reads)
    with pytest.raises(REFUSED) as raised:
        decoder.decode(value)
    return f"{decoder.where(raised.value)}: {raised.value}"


def by_fastavro(value: bytes, wrote: Any, reads: Any = None) -> Any:
    """What fastavro reads, and nothing behind it; None where it fails."""
    given = io.BytesIO(value)
    try:
        found = fastavro.schemaless_reader(given, wrote, reads, return_named_type=False)
    except Exception:  # noqa: BLE001 - it fails in many ways
        return None
    return found if not given.read() else None


def by_apache(value: bytes, wrote: Any) -> Any:
    given = io.BytesIO(value)
    schema = avro.schema.parse(json.dumps(wrote))
    try:
        found = avro.io.DatumReader(schema, schema).read(avro.io.BinaryDecoder(given))
    except Exception:  # noqa: BLE001 - it fails in many ways
        return None
    return found if not given.read() else None


@given(record(), st.data())
def test_what_another_library_writes_comes_back_equal(given, data):
    schema, values = given
    value = data.draw(values)
    bytes_ = written(schema, value)
    assert read(bytes_, schema) == by_fastavro(bytes_, schema) == value


@given(record(), st.data())
def test_changed_bytes_are_refused_or_are_what_another_library_reads(given, data):
    schema, values = given
    changed = bytearray(written(schema, data.draw(values)))
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(changed)))
        how = data.draw(st.sampled_from(["cut", "put", "set"]))
        byte = data.draw(st.integers(0, 255))
        changed[where : where + (how != "put")] = b"" if how == "cut" else bytes([byte])
    value = bytes(changed)
    decoder, names = reader(schema)
    try:
        found = dict(zip(names, decoder.decode(value), strict=True))
    except REFUSED as error:
        found, where = None, decoder.where(error)
    if found is None:
        assert where.startswith("$")
        return
    theirs = by_fastavro(value, schema), by_apache(value, schema)
    assert repr(found) in [repr(each) for each in theirs], (schema, value)


FLAT = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "n", "type": "int"},
        {"name": "s", "type": {"type": "enum", "name": "S", "symbols": ["a", "b"]}},
        {"name": "c", "type": ["null", "string"], "default": None},
    ],
}
ORDER = {"id": "ö", "n": 7, "s": "b", "c": None}


def changed(field: str, kind: Any, **more: Any) -> dict[str, Any]:
    """FLAT with this type of the field, which may be new; None leaves it out."""
    fields = {each["name"]: each for each in FLAT["fields"]}
    fields[field] = {"name": field, "type": kind} | more
    return {**FLAT, "fields": [each for each in fields.values() if each["type"]]}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "S", "symbols": [*symbols], **more}


INNER = {"type": "record", "name": "X", "fields": [{"name": "y", "type": "int"}]}
TIME = {"type": "int", "logicalType": "time-millis"}
EVOLUTIONS: dict[str, tuple[Any, Any]] = {
    "a field that the reader drops": (changed("n", None), {"id": "ö", "s": "b", "c": None}),
    "a field with a default that the writer lacks": (changed("x", "long", default=5), {**ORDER, "x": 5}),
    "a field renamed by alias": (changed("n", "int", name="m", aliases=["n"]), {"id": "ö", "m": 7, "s": "b", "c": None}),
    "int to long": (changed("n", "long"), ORDER),
    "int to double": (changed("n", "double"), {**ORDER, "n": 7.0}),
    "string to bytes": (changed("id", "bytes"), {**ORDER, "id": "ö".encode()}),
    "a type to a union of it": (changed("n", ["null", "int"]), ORDER),
    "an enum with fewer symbols, and a default": (changed("s", enum("a", "z", default="z")), {**ORDER, "s": "z"}),
    "another namespace": ({**FLAT, "namespace": "other"}, ORDER),
    "a record renamed by alias": ({**FLAT, "name": "Sale", "aliases": ["shop.Order"]}, ORDER),
    "a default that is a record": (changed("x", INNER, default={"y": 1}), {**ORDER, "x": {"y": 1}}),
    "a field without a default that the writer lacks": (changed("x", "long"), "$.x: the writer has no such field, and the reader no default"),
    "long to int": (changed("id", "int"), "$.id: the writer has string and the reader int"),
    "an enum with fewer symbols": (changed("s", enum("a")), "$.s: the reader lacks this symbol"),
    "another record": ({**FLAT, "name": "Sale"}, "$: the writer has record shop.Order and the reader record shop.Sale"),
    "a number that becomes a time": (changed("n", TIME), {**ORDER}),
}  # fmt: skip


@pytest.mark.parametrize("kind", EVOLUTIONS)
def test_an_evolution_goes_on_or_is_refused_as_avro_says(kind):
    reads, expected = EVOLUTIONS[kind]
    value = written(FLAT, ORDER)
    if isinstance(expected, str):
        assert refused(value, FLAT, reads) == expected
        assert by_fastavro(value, FLAT, reads) is None or kind == "another record"
    else:
        assert read(value, FLAT, reads) == expected
        if "time" not in json.dumps(reads):
            assert by_fastavro(value, FLAT, reads) == expected


def test_a_unit_of_time_is_not_taken_for_another():
    def of(unit: str) -> dict[str, Any]:
        return changed("n", {"type": "long", "logicalType": f"timestamp-{unit}"})

    at = datetime(2026, 11, 26, 10, 0, 0, 250_000, tzinfo=UTC)
    for unit in ("millis", "micros"):
        assert read(written(of(unit), {**ORDER, "n": at}), of(unit))["n"] == at
    said = refused(written(of("millis"), {**ORDER, "n": at}), of("millis"), of("micros"))
    assert said == "$.n: the writer has timestamp-millis and the reader timestamp-micros"


def test_a_null_in_a_union_that_the_reader_has_no_null_for_is_refused_where_it_is():
    reads = changed("c", "string")
    assert read(written(FLAT, {**ORDER, "c": "x"}), FLAT, reads)["c"] == "x"
    assert (
        refused(written(FLAT, ORDER), FLAT, reads)
        == "$.c: the writer has null and the reader string"
    )


def test_a_union_of_records_gives_the_fields_of_the_one_that_is_there():
    def of(name: str, field: str) -> dict[str, Any]:
        return {"type": "record", "name": name, "fields": [{"name": field, "type": "int"}]}

    node = parse(json.dumps([of("A", "a"), of("B", "b"), "string"]))
    decoder = compiled(node, node, ["a", "b"], ())
    assert decoder.decode(b"\x02\x0e") == (None, 7)
    with pytest.raises(ValueError, match="it is no record"):
        decoder.decode(b"\x04\x02x")


LIST = {
    "type": "record",
    "name": "L",
    "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "L"]}],
}


def test_a_type_that_has_itself_in_it_is_read():
    value = {"v": 1, "next": {"v": 2, "next": None}}
    assert read(written(LIST, value), LIST) == value
    assert refused(b"\x02\x02" * 5000 + b"\x02\x00", LIST).startswith("$.next.next")


@pytest.mark.parametrize(
    ("items", "value"),
    [
        ("null", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
        ("int", b"\x80\x80\x80\x80\x10\x00"),
    ],
)
def test_a_short_value_with_billions_of_items_is_refused(items, value):
    schema = {
        "type": "record",
        "name": "A",
        "fields": [{"name": "a", "type": {"type": "array", "items": items}}],
    }
    assert refused(value, schema) == "$.a[...]: the value ends in it"


def one(kind: Any) -> dict[str, Any]:
    """A record of one field, `a`."""
    return {"type": "record", "name": "O", "fields": [{"name": "a", "type": kind}]}


STRICT: dict[str, tuple[Any, bytes, str]] = {
    "a boolean of 2": ("boolean", b"\2", "a boolean is neither 0 nor 1"),
    "an int of 33 bits": ("int", b"\x80\x80\x80\x80\x10", "a number does not fit 32 bits"),
    "a long of 70 bits": ("long", b"\xff" * 9 + b"\x7f", "a number is longer than 64 bits"),
    "a long of 11 bytes": ("long", b"\xff" * 10 + b"\1", "a number is longer than 64 bits"),
    "a text of length -1": ("string", b"\1abc", "a length is negative"),
    "a symbol of number -1": (enum("x", "y"), b"\1", "it has a symbol that its enum lacks"),
    "a symbol behind the last": (enum("x", "y"), b"\4", "it has a symbol that its enum lacks"),
    "a branch of number -1": (["null", "string"], b"\1\2a", "it has a type that its union lacks"),
    "a branch behind the last": (["null", "int"], b"\4\2", "it has a type that its union lacks"),
    "a block of a negative size": ({"type": "array", "items": "int"}, b"\1\1\2\0", "a block has a wrong size"),
    "a fixed of 2**64 bytes": ({"type": "fixed", "name": "F", "size": 2**64}, b"abc", "the value ends in it"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRICT)
def test_a_value_that_its_type_has_not_is_refused_and_never_another_one(name):
    """Most of them fastavro and Apache's avro read as another value."""
    kind, value, why = STRICT[name]
    where, _, said = refused(value, one(kind)).partition(": ")
    assert (where[:3], said) == ("$.a", why)


def test_bytes_behind_a_record_are_refused():
    assert refused(written(FLAT, ORDER) + b"\0", FLAT) == "$: 1 bytes follow the record"


def test_names_of_other_schemas_are_found_in_the_references():
    inner = '{"type": "record", "name": "A", "namespace": "x", "fields": [{"name": "n", "type": "int"}]}'
    outer = (
        '{"type": "record", "name": "B", "namespace": "x", "fields": [{"name": "a", "type": "A"}]}'
    )
    node = parse(outer, [inner])
    assert compiled(node, node, ["a"], ()).decode(b"\x0e") == ({"n": 7},)
    with pytest.raises(SchemaInvalid, match="nothing is named 'A'"):
        parse(outer)


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "7", '{"type": "record", "name": "A"}', '{"type": "fixed", "name": "F"}'),
        *('"X"', '{"type": {"doc": []}}', '{"type": [{}]}'),
        '{"type": "record", "name": "A", "aliases": 7, "fields": []}',
        '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "aliases": 7}]}',
    ],
)
def test_what_is_no_schema_is_refused(text):
    with pytest.raises(SchemaInvalid):
        parse(text)


def test_numbers_on_the_wire_are_given_where_they_are_asked_for():
    day = {"type": "int", "logicalType": "date"}
    node = parse(
        json.dumps({"type": "record", "name": "D", "fields": [{"name": "d", "type": day}]})
    )
    assert compiled(node, node, ["d"], ["d"]).decode(b"\x02") == (1,)
    assert compiled(node, node, ["d"], ()).decode(b"\x02") == (date(1970, 1, 2),)


@pytest.mark.parametrize("depth", [11, 40])
@pytest.mark.parametrize("kinds", [("array",), ("map",), ("array", "map"), ("array", "union"), ("map", "record")])  # fmt: skip
def test_arrays_and_maps_may_be_deep_in_each_other(depth, kinds):
    """Python compiles no more than twenty blocks in each other. Read, and read over."""
    kind: Any = "long"
    value: Any = 7
    for level in range(depth):
        match kinds[level % len(kinds)]:
            case "array":
                kind, value = (
                    {"type": "array", "items": kind},
                    [value, value][: 2 if level < 5 else 1],
                )
            case "map":
                kind, value = {"type": "map", "values": kind}, {"k": value}
            case "union":
                kind = ["null", kind]
            case _:
                name, fields = f"r{level}", [{"name": "x", "type": kind}]
                kind, value = {"type": "record", "name": name, "fields": fields}, {"x": value}
    schema = {
        "type": "record",
        "name": "Top",
        "fields": [{"name": "deep", "type": kind}, {"name": "id", "type": "long"}],
    }
    bytes_ = written(schema, {"deep": value, "id": 5})
    assert read(bytes_, schema) == {"deep": value, "id": 5} == by_fastavro(bytes_, schema)
    node = parse(json.dumps(schema))
    assert compiled(node, node, ["id"], ()).decode(bytes_) == (5,)
    assert refused(bytes_[:-1] + b"\xff", schema).startswith("$.id")
    assert refused(bytes_[:3], schema).startswith("$.deep")
