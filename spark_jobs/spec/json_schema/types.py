"""Types: the type of a field that a JSON Schema means, and the schema of a type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.spec.json_schema.document import SAID, refuse
from spark_jobs.values import type_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from spark_jobs.spec.json_schema.document import Document, Part, Schema

SCALARS: Final = {"integer": "bigint", "number": "double", "boolean": "boolean"}
TEXTS: Final = {"date-time": "timestamp", "date": "date"}
NOT_HELD: Final = (
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "prefixItems",
    "additionalItems",
)
"""Keywords that no field holds. One that is in no draft is a remark."""
OF_A_MEMBER: Final = (
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "required",
)
"""Those that a field holds, and a part of it does not."""


class Kind(NamedTuple):
    """A type, and how it is written."""

    type: str
    format: str | None = None


ANYTHING: Final = Kind("string", "json")


class Types:
    """The types of one document. `refuses` refuses a keyword, unless it is ignored."""

    def __init__(self, document: Document, refuses: Callable[[Part, str], None]) -> None:
        self._document = document
        self._refuses = refuses

    def of(self, part: Part) -> Kind:
        """Of a whole field. An object with properties is none (reading.py)."""
        kind = named(part)
        if kind == "string" and part.schema.get("contentEncoding") == "base64":
            if part.schema.get("format") in (*TEXTS, "uuid"):
                self._refuses(part, "format")  # bytes are no time
            return Kind("binary")
        if kind == "string":
            return Kind(TEXTS.get(str(part.schema.get("format")), "string"))
        if kind in SCALARS:
            return Kind(SCALARS[kind])
        if kind == "array" and part.schema.get("items", True) is not True:
            return Kind(f"array<{self._inner(part, 'items')}>")
        if kind == "object" and isinstance(part.schema.get("additionalProperties"), dict):
            return Kind(f"map<string,{self._inner(part, 'additionalProperties')}>")
        if kind in ("array", "object"):
            self._refuses(part, "type")  # as text it may be of any other
        return ANYTHING

    def refuse_within(self, part: Part) -> None:
        """Refuse what the parts say of a value whose type is Sluice's own."""
        if not isinstance(part.schema.get("items", True), dict | bool):
            self._refuses(part, "items")
        found: list[tuple[str, ...]] = [
            ("properties", name) for name in part.schema.get("properties", ())
        ]
        found += [
            (key,)
            for key in ("items", "additionalProperties")
            if isinstance(part.schema.get(key), dict)
        ]
        for keys in found:
            inner = self._document.inner(part, *keys)
            self._refuse_of_a_member(inner)
            self.refuse_within(inner)

    def _inner(self, part: Part, key: str) -> str:
        return self._member(self._document.inner(part, key))

    def _refuse_of_a_member(self, part: Part) -> None:
        for keyword in (*NOT_HELD, *OF_A_MEMBER):
            self._refuses(part, keyword)
        if part.schema.get("format") == "uuid":
            self._refuses(part, "format")

    def _member(self, part: Part) -> str:
        self._refuse_of_a_member(part)
        if "type" in part.own:
            self.refuse_within(part)
            return str(part.own["type"])
        properties = part.schema.get("properties")
        if named(part) == "object" and properties:
            if part.schema.get("additionalProperties", True) not in (True, False, {}):
                self._refuses(part, "additionalProperties")
            members = (
                f"{name}:{self._member(self._document.inner(part, 'properties', name))}"
                for name in properties
            )
            return f"struct<{','.join(members)}>"
        kind = self.of(part)
        if kind == ANYTHING:
            refuse(part.pointer, "may be anything", "Give it a type")
        return kind.type


def named(part: Part) -> str:
    """The type that the schema names, or that its keywords let tell; empty if it may be any."""
    schema = part.schema
    if "type" in schema:
        return str(schema["type"])
    values = {type(each) for each in schema.get("enum", ())}
    if len(values) == 1:
        told = {str: "string", int: "integer", float: "number", bool: "boolean"}
        return told.get(values.pop(), "")
    for name, keys in (
        ("object", ("properties", "required")),
        ("string", ("pattern", "minLength", "maxLength", "format", "contentEncoding")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
        ("array", ("items",)),
    ):
        if {*keys} & schema.keys():
            return name
    if left := sorted(schema.keys() & {*NOT_HELD} - SAID):
        refuse(part.under(left[0]), "is held by no field", "Give the schema a type")
    return ""


def schema_of(tree: type_tree.Type) -> Schema:
    """The schema of a type without null."""
    match tree:
        case type_tree.Decimal():
            return {"type": "number"}
        case type_tree.Array(element):
            return {"type": "array", "items": or_null(schema_of(element))}
        case type_tree.Map(value):
            return {"type": "object", "additionalProperties": or_null(schema_of(value))}
        case type_tree.Struct(members):
            of = {name: or_null(schema_of(each)) for name, each in members}
            return {"type": "object", "properties": of}
        case type_tree.Scalar(name):
            return dict[str, Any](
                {
                    "binary": {"type": "string", "contentEncoding": "base64"},
                    "boolean": {"type": "boolean"},
                    "timestamp": {"type": "string", "format": "date-time"},
                    "date": {"type": "string", "format": "date"},
                    **{key: {"type": "string"} for key in ("string", "timestamp_ntz")},
                    **{key: {"type": "integer"} for key in ("smallint", "int", "bigint")},
                    **{key: {"type": "number"} for key in ("float", "double")},
                }[name]
            )


def or_null(schema: Schema) -> Schema:
    """The schema, and null."""
    if "type" not in schema:
        return schema
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    more: Schema = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [*kinds, "null"]} | more
