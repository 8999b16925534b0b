"""JSON Schema documents: what fields they are, what of them no field holds, and that the library
`jsonschema` calls valid what the decoder accepts.
"""

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Field, Json, Local, Topic, from_json_schema
from spark_jobs.spec.json_schema.writing import as_json_schema
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.unit.decoding import Decoding

AT = {"type": "string", "format": "date-time"}
CLOCK = Field(name="at", type="timestamp")
FORMATS = FormatChecker(())


@FORMATS.checks("date-time", ValueError)
def _is_time(text: object) -> bool:
    return not isinstance(text, str) or datetime.fromisoformat(text).tzinfo is not None


@FORMATS.checks("date", ValueError)
def _is_date(text: object) -> bool:
    return not isinstance(text, str) or bool(datetime.strptime(text, "%Y-%m-%d"))  # noqa: DTZ007


@FORMATS.checks("uuid")
def _is_uuid(text: object) -> bool:
    return not isinstance(text, str) or [*map(len, text.split("-"))] == [8, 4, 4, 4, 12]


def document(properties: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, **more})


FOREIGN = """
{ "$schema": "http://json-schema.org/draft-07/schema#", "title": "An order",
  "type": "object", "additionalProperties": false,
  "required": ["orderId", "createdAt", "customer", "total", "size"],
  "definitions": {
    "Money": {"type": "object", "required": ["value"],
              "properties": {"value": {"type": "number", "minimum": 0},
                             "currency": {"enum": ["EUR", "USD"]}}},
    "Name": {"type": "string", "minLength": 1, "maxLength": 5} },
  "properties": {
    "orderId": {"type": "string", "format": "uuid", "description": "its id"},
    "createdAt": {"type": "string", "format": "date-time"},
    "customer": {"type": "object", "required": ["firstName"],
                 "properties": {"firstName": {"$ref": "#/definitions/Name"},
                                "born": {"type": ["string", "null"], "format": "date"}}},
    "total": {"$ref": "#/definitions/Money"},
    "refund": {"anyOf": [{"type": "null"}, {"$ref": "#/definitions/Money"}]},
    "size": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
    "state": {"oneOf": [{"type": "null"}, {"type": "string", "pattern": "^[a-z]+$"}]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "lines": {"type": ["array", "null"], "items": {"type": "object", "properties": {
              "sku": {"type": "string"}, "qty": {"type": "integer"}}}},
    "attributes": {"type": "object", "additionalProperties": {"type": "number"}},
    "extra": {} } }
"""
WANTED = {
    "order_id": ("string", "orderId", True),
    "created_at": ("timestamp", "createdAt", True),
    "customer_first_name": ("string", "customer.firstName", True),
    "customer_born": ("date", "customer.born", False),
    "total_value": ("double", "total.value", True),
    "total_currency": ("string", "total.currency", False),
    "refund_value": ("double", "refund.value", False),
    "refund_currency": ("string", "refund.currency", False),
    "size": ("bigint", None, True),
    "state": ("string", None, False),
    "tags": ("array<string>", None, False),
    "lines": ("array<struct<sku:string,qty:bigint>>", None, False),
    "attributes": ("map<string,double>", None, False),
    "extra": ("string", None, False),
}


def test_a_document_of_another_team_is_the_declaration():
    fields = from_json_schema(FOREIGN)
    assert {f.name: (f.type, f.path, f.required) for f in fields} == WANTED
    by = {field.name: field for field in fields}
    assert (by["size"].at_least, by["size"].at_most) == (1, 9)
    assert by["total_currency"].one_of == ("EUR", "USD")
    assert (by["extra"].format, by["order_id"].about) == ("json", "its id")
    Topic(name="orders", event_time="created_at", fields=fields)


REFUSED: list[tuple[str, Any]] = [
    ("/type", {"type": ["string", "integer"]}),
    ("/type", {"type": "null"}),
    ("/anyOf", {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ("/not", {"type": "string", "not": {"const": "x"}}),
    ("/multipleOf", {"type": "number", "multipleOf": 0.01}),
    ("/uniqueItems", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    ("/items/pattern", {"type": "array", "items": {"type": "string", "pattern": "x"}}),
    ("/items/required", {"type": "array", "items": {"properties": {"b": AT}, "required": ["b"]}}),
    ("/enum", {"enum": ["x", 1]}),
    ("/$ref", {"$ref": "other.json#/a"}),
    ("/$ref", {"$ref": "#/$defs/b"}),
    ("/exclusiveMinimum", {"minimum": 1, "exclusiveMinimum": True}),
    ("", False),
    ("/type", {"type": "object"}),
    ("/type", {"type": "array"}),
    ("/type", {"type": "foo"}),
    ("/type", {"type": {}}),
    ("/enum", {"enum": [None]}),
    ("/enum", {"enum": "ab"}),
    ("/enum", {"enum": []}),
    ("/const", {"const": None}),
    ("/const", {"enum": ["a", "b"], "const": "a"}),
    ("/properties", {"type": "object", "properties": [1]}),
    ("/additionalProperties", {"properties": {"b": AT}, "additionalProperties": {"type": "integer"}}),
    ("/multipleOf", {"type": "number", "multipleOf": 0.05, "x-sluice": {"type": "decimal(12,2)"}}),
    ("/minItems", {"type": "array", "minItems": 1, "x-sluice": {"type": "array<bigint>"}}),
    ("/items/minimum", {"items": {"type": "integer", "minimum": 0}, "x-sluice": {"type": "array<bigint>"}}),
    ("/oneOf", {"oneOf": [{"pattern": "a"}, {"maxLength": 1}], "x-sluice": {"type": "string"}}),
    ("/items", {"items": [{"minimum": 0}], "x-sluice": {"type": "array<bigint>"}}),
    ("/enum", {"type": "object", "properties": {"b": AT}, "enum": [{"b": "x"}]}),
    ("/minLength", {"type": "string", "minLength": -1}),
    ("/minLength", {"type": "string", "minLength": "a"}),
    ("/maximum", {"type": "number", "maximum": 10**400}),
    ("/format", {"type": "string", "contentEncoding": "base64", "format": "date"}),
    ("/x-sluice", {"type": "number", "x-sluice": {"type": "dec("}}),
    ("/x-sluice", {"type": "string", "x-sluice": "b"}),
]  # fmt: skip
"""Where in the property `a`, and its schema."""
WHOLE = [
    ("/", json.dumps({"type": "array"})),
    ("/$schema", json.dumps({"$schema": "http://json-schema.org/draft-04/schema#"})),
    ("/$defs/a", document({"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}})),
    ("/$defs/tree", document({"a": {"$ref": "#/$defs/tree"}}, **{"$defs": {"tree": {"properties": {"left": {"$ref": "#/$defs/tree"}}}}})),
    ("/properties/a_b", document({"aB": {"type": "string"}, "a_b": {"type": "string"}})),
    ("/properties/日", document({"日": {"type": "string"}})),
    ("/patternProperties", document({"a": AT}, patternProperties={"^x": {}})),
    ("/required", document({"at": AT}, required=["at", "b"])),
    ("/", document({"a": {"$recursiveRef": "#"}})),
    ("/properties/a/minimum", '{"properties": {"a": {"type": "integer", "minimum": 1e999}}}'),
    ("/properties/a~1b/not", document({"a/b": {"type": "string", "not": {}}})),
    *((f"/properties/a{where}", document({"a": schema})) for where, schema in REFUSED),
]  # fmt: skip


@pytest.mark.parametrize(("pointer", "text"), WHOLE)
def test_what_no_field_holds_is_refused_by_its_pointer(pointer, text):
    with fails(SpecInvalid, "json_schema_refused", pointer=pointer):
        from_json_schema(text)


def test_a_keyword_may_be_let_stand_by_its_name_or_its_pointer():
    text = document({"a": dict(REFUSED)["/uniqueItems"]})
    for ignored in ("uniqueItems", "/properties/a/uniqueItems"):
        [field] = from_json_schema(text, ignored=(ignored,))
        assert field.type == "array<string>"
    with pytest.raises(SpecInvalid):
        from_json_schema(text, ignored=("/properties/b/uniqueItems",))


def accepts(schema: dict[str, Any], values: list[Any], **more: Any) -> list[bool]:
    """Whether the decoder of the property's field takes each of them."""
    text = json.dumps({"properties": {"at": AT, "a": schema}, "required": ["at", "a"], **more})
    decoding = Decoding(Topic(name="t", event_time="at", fields=from_json_schema(text)))
    rows = [json.dumps({"at": "2026-01-02T03:04:05Z", "a": value}).encode() for value in values]
    return [decoding.row(row)[1] is None for row in rows]


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^(a|b)$", ["a", "b"], ["b\n", "ab"]),
        ("^a|b$", ["ax", "xb"], ["xb\n"]),
        ("^(?:a|b)$", ["b"], ["b\n"]),
        (r"^\d{3}$", ["123"], ["٣٣٣"]),
        (r"^\w+$", ["aZ_0"], ["é"]),
        (r"^[\d\w-x]+$", ["a-1"], ["٣", "b.c", "`"]),
        (r"^\D\W$", ["٣é"], ["1é", "٣a"]),
        (r"^\s\S$", ["\u00a0x", "\ufeffx"], ["\x85x", "x\ufeff"]),
        (r"\bb\b", ["éb", "a b"], ["ab"]),
        ("^.$", ["x", "\x85"], ["\r", "\u2028", "\n"]),
        (r"^[-\d{,3}]$", ["-", "1", ","], ["٣"]),
        ("^[$.[]$", ["$", "[", "."], ["x"]),
        (r"a\$", ["xa$"], ["a"]),
    ],
)
def test_a_pattern_is_what_ecma_means_by_it(pattern, good, bad):
    schema = {"type": "string", "pattern": pattern}
    wanted = [True] * len(good) + [False] * len(bad)
    assert accepts(schema, good + bad) == wanted


@pytest.mark.parametrize(
    "pattern", ["[]", "^[^]a]$", r"[\D]", r"[+-\d]", r"a\Z", r"\cA", "a{,3}", r"\p{L}", "(?<n>a)"]
)
def test_a_pattern_that_python_means_otherwise_is_refused(pattern):
    with fails(SpecInvalid, "json_schema_refused", pointer="/properties/a/pattern"):
        from_json_schema(document({"a": {"type": "string", "pattern": pattern}}))


DECIMAL = {"x-sluice": {"type": "decimal(12,2)"}}
MONEY = {
    "$defs": {"m": {"type": ["number", "null"], "minimum": 0}, "d": {"type": "number"} | DECIMAL}
}
JSON = {"x-sluice": {"type": "string", "format": "json"}}
TEXT_OR_NUMBER = [{"type": "string"}, {"type": "number"}]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$ref": "#/$defs/m"} | DECIMAL, [5, None], [-5]),
        ({"allOf": [{"$ref": "#/$defs/m"}]} | DECIMAL, [5, None], [-5]),
        ({"allOf": [{"$ref": "#/$defs/m"}], "type": "number"} | DECIMAL, [5], [-5, None]),
        ({"oneOf": [{"type": "number", "maximum": 5}, {"type": "null"}]} | DECIMAL, [5, None], [6]),
        ({"anyOf": TEXT_OR_NUMBER, "x-sluice": {"type": "timestamp", "format": "s"}}, ["1", 1], []),
        (
            {
                "anyOf": [{"type": ["string", "null"]}, {"type": "number"}],
                "x-sluice": {"type": "timestamp", "format": "s"},
            },
            ["1", None],
            [[]],
        ),
        ({"anyOf": [*TEXT_OR_NUMBER, {"$ref": "#/$defs/m"}]} | JSON, ["a", 1, None, []], []),
        ({"type": "number", "multipleOf": 0.01} | DECIMAL, [0.03], [0.035]),
        ({"$ref": "#/$defs/d", "x-sluice": {"name": "b"}}, [0.03], [0.035]),
        ({"allOf": [{"$ref": "#/$defs/d"}], "x-sluice": {"name": "b"}}, [0.03], [0.035]),
        ({"type": "string", "pattern": "^(?:(?s:.{2,3}))$"}, ["a\n"], ["a"]),
        ({"exclusiveMinimum": 0, "x-sluice": {"type": "float"}}, [1e-44, 1], [0, -1]),
        ({"exclusiveMaximum": 1, "x-sluice": {"type": "float"}}, [0.99, 0], [1, 2]),
        ({"exclusiveMaximum": 0, "x-sluice": {"type": "float"}}, [-1e-44], [0, 1]),
        ({"exclusiveMinimum": -1, "x-sluice": {"type": "float"}}, [-0.99], [-1]),
        ({"exclusiveMinimum": 0.1, "x-sluice": {"type": "float"}}, [0.2], [0.05]),
    ],
)
def test_a_type_of_sluices_own_keeps_what_else_the_schema_says(schema, good, bad):
    assert accepts(schema, good + bad, **MONEY) == [True] * len(good) + [False] * len(bad)


# A declaration, its schema, a declaration.

KEYS = st.text("abcXYZ@-. 'ü", min_size=1, max_size=6).filter(lambda key: not key.isspace())
PATHS = st.lists(KEYS, min_size=1, max_size=3)
TYPES = ("string", "smallint", "int", "bigint", "float", "double", "boolean", "binary", "timestamp")
TYPES += ("timestamp_ntz", "date", "decimal(9,2)", "array<string>", "map<string,decimal(3,1)>")
TYPES += ("struct<a:int,B:array<timestamp>>", "array<struct<a:bigint,b:map<string,date>>>")


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    fields, taken = [CLOCK], {("at",)}
    for number in range(draw(st.integers(1, 6))):
        keys = tuple(draw(PATHS))
        if any(keys[: len(other)] == other[: len(keys)] for other in taken):
            continue
        taken.add(keys)
        fields.append(draw(_fields(number, keys)))
    fields += draw(st.sampled_from(([], [Field(name="key", type="int", part="key")])))
    order = draw(st.permutations(fields))
    return Topic(name="t", event_time="at", key=Json(), fields=tuple(order))


@st.composite
def _fields(draw: st.DrawFn, number: int, keys: tuple[str, ...]) -> Field:
    quoted = ".".join(json.dumps(key, ensure_ascii=False) for key in keys)
    more: dict[str, Any] = {"type": (kind := draw(st.sampled_from(TYPES)))}
    if kind == "string":
        patterns = [{"pattern": each} for each in ("a|b", "^x$", r"(?s:.*)\d", r"[\W]a\Z")]
        others = [{"one_of": ("a", "b")}, {"format": "json"}, {"one_of": ("a",), "pattern": "a"}]
        more |= draw(st.sampled_from([{}, *patterns, *others]))
    elif kind in ("smallint", "int", "bigint"):
        more |= draw(st.sampled_from(({}, {"one_of": (1, 2)}, {"at_least": -3}, {"at_most": 7})))
        more |= draw(st.sampled_from(({}, {"format": "text"})))
    elif kind in ("double", "float"):
        more |= draw(st.sampled_from(({}, {"at_least": 0.5, "at_most": 3}, {"format": "text"})))
    elif kind == "decimal(9,2)":
        ways = ({}, {"at_least": "0.10"}, {"at_most": 5}, {"format": "base64"}, {"format": "text"})
        more |= draw(st.sampled_from(ways))
    elif kind.startswith("timestamp"):
        local = Local(pattern="%d.%m.%Y", zone="Europe/Berlin" if kind == "timestamp" else None)
        ways = ({}, {"format": "ms"}, {"format": "s"}, {"format": local})
        more |= draw(st.sampled_from(ways))
    elif kind == "date":
        more |= draw(st.sampled_from(({}, {"format": "days"}, {"at_least": "2020-01-01"})))
    paths = draw(st.sampled_from((quoted, quoted, (quoted, f"other{number}"), f"{quoted}[0]")))
    about, required = draw(st.sampled_from(("", "ü"))), draw(st.booleans())
    return Field(name=f"f{number}", path=paths, about=about, required=required, **more)


@given(topics())
@settings(max_examples=examples(60), deadline=None)
def test_a_declaration_comes_back_from_its_schema(topic):
    text = as_json_schema(topic)
    Draft202012Validator.check_schema(json.loads(text))
    assert from_json_schema(text) == topic.fields


# The library and the decoder.

VALUES = st.sampled_from((
    None, "", "a", "ab", "abc", "X", "EUR", "2026-01-02", "2026-01-02T03:04:05Z", "a\nb",
    "2026-01-02T03:04:05", "0f0e0d0c-0b0a-0908-0706-050403020100", "-1", True, False, 0, 1, 5, 9,
    10, -1, 2**31, 2**63 - 1, 0.5, -0.5, 1e+300, [], ["a"], [None], [1], {}, {"value": 1},
    {"value": -1, "currency": "EUR"}, {"firstName": "Ada"},
    {"firstName": "", "born": "2000-02-30"}, {"firstName": "Ada", "born": None},
    [{"sku": "a", "qty": 2}], [{"sku": 1}], {"a": 1.5}, {"a": "b"},
))  # fmt: skip
DOCUMENTS = {
    "foreign": (FOREIGN, Draft7Validator),
    "written": (
        as_json_schema(
            Topic(
                name="t",
                event_time="created_at",
                fields=(
                    Field(name="created_at", type="timestamp", path="createdAt"),
                    Field(name="size", type="int", at_least=1),
                    Field(name="state", type="string", pattern="a.*", required=False),
                    Field(name="extra", type="double", at_most=5, required=False),
                    Field(name="tags", type="array<string>", required=False),
                    Field(name="lines", type="array<struct<sku:string,qty:int>>", required=False),
                    Field(name="attributes", type="map<string,double>", required=False),
                    Field(name="currency", type="string", path="total.currency", required=False),
                    Field(name="order", type="string", path="orderId", one_of=("a", "X")),
                ),
            )
        ),
        Draft202012Validator,
    ),
}


def _hold(name: str) -> tuple[Any, Decoding, list[str], set[str]]:
    text, validator = DOCUMENTS[name]
    schema = json.loads(text)
    schema.pop("additionalProperties", None)
    decoding = Decoding(Topic(name="t", event_time="created_at", fields=from_json_schema(text)))
    return (
        validator(schema, format_checker=FORMATS),
        decoding,
        [*schema["properties"]],
        {*schema["required"]},
    )


HELD = {name: _hold(name) for name in DOCUMENTS}
GOOD = {
    "orderId": {"foreign": "0f0e0d0c-0b0a-0908-0706-050403020100", "written": "a"},
    "createdAt": "2026-01-02T03:04:05Z",
    "customer": {"firstName": "Ada"},
    "total": {"value": 1, "currency": "EUR"},
    "size": 5,
}


@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_a_record_is_valid_if_and_only_if_it_is_accepted(data):
    name = data.draw(st.sampled_from([*DOCUMENTS]))
    validator, decoding, properties, required = HELD[name]
    record = {key: of[name] if key == "orderId" else of for key, of in GOOD.items()}
    record = {key: value for key, value in record.items() if key in properties}
    for key in data.draw(st.lists(st.sampled_from(properties), max_size=2)):
        record[key] = data.draw(VALUES)
    for key in data.draw(st.lists(st.sampled_from(properties), max_size=1)):
        record.pop(key, None)
    # What the documentation says that fields do not hold.
    for key in [key for key, value in record.items() if value is None and key not in required]:
        record.pop(key)
    if isinstance(record.get("refund"), dict) and "value" not in record["refund"]:
        record.pop("refund")
    _, why = decoding.row(json.dumps(record).encode())
    assert validator.is_valid(record) is (why is None), (record, why)
