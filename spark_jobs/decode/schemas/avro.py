"""Avro schemas, parsed: JSON text to nodes (Apache Avro 1.12, Specification)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

PRIMITIVES: Final = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
)
LOGICAL: Final = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    **dict.fromkeys(("timestamp-millis", "timestamp-micros", "timestamp-nanos"), ("long",)),
    **dict.fromkeys(
        ("local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"), ("long",)
    ),
    "uuid": ("string", "fixed"),
    "decimal": ("bytes", "fixed"),
}
"""Logical type -> the types that it may be of. Of another type, and any other, it is ignored."""
NO_DEFAULT: Final = object()


class SchemaInvalid(ValueError):
    """The text is no Avro schema; says why."""


@dataclass(eq=False)
class Node:
    """A type. One of a name is one object, however often it is used."""

    kind: str
    """A primitive, or record, enum, array, map, fixed, union."""
    name: str = ""
    """Full name of a record, an enum or a fixed."""
    aliases: tuple[str, ...] = ()
    logical: str = ""
    scale: int = 0
    precision: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    default: str | None = None
    """Of an enum: the symbol in place of one that the reader does not have."""
    fields: list[NodeField] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    """Branches of a union; the one type of an array's or a map's items."""

    def __str__(self) -> str:
        return self.logical or self.name.rpartition(".")[2] or self.kind


@dataclass(frozen=True, eq=False)
class NodeField:
    """A field of a record."""

    name: str
    node: Node
    aliases: tuple[str, ...] = ()
    default: Any = NO_DEFAULT


def parse(text: str, references: Sequence[str] = ()) -> Node:
    """The schema's node. `references` are the texts of the schemas whose names it uses, each behind
    those that it uses itself. Raises SchemaInvalid.
    """
    names: dict[str, Node] = {}
    for reference in references:
        _read(reference, names)
    return _read(text, names)


def _read(text: str, names: dict[str, Node]) -> Node:
    try:
        given = json.loads(text)
    except ValueError as error:
        # A registry gives a primitive's name as it was registered, in quotes or not.
        given = text.strip()
        if given[:1] in "[{":
            raise SchemaInvalid(f"it is no JSON: {error}") from None
    except RecursionError:
        raise SchemaInvalid("it is nested too deeply") from None
    try:
        return _node(given, "", names)
    except RecursionError:
        raise SchemaInvalid("it is nested too deeply") from None


def _node(given: Any, space: str, names: dict[str, Node]) -> Node:
    if isinstance(given, str):
        return Node(given) if given in PRIMITIVES else _known(given, space, names)
    if isinstance(given, list):
        parts = [_node(each, space, names) for each in given]
        if not parts or any(part.kind == "union" for part in parts):
            raise SchemaInvalid("a union is empty, or has a union in it")
        return Node("union", parts=parts)
    if not isinstance(given, dict):
        raise SchemaInvalid(f"{str(given)[:80]!r} is no type")
    return _declared(given, space, names)


def _known(name: str, space: str, names: dict[str, Node]) -> Node:
    found = names.get(_full(name, space)) or names.get(name)
    if found is None:
        raise SchemaInvalid(f"nothing is named {name[:80]!r}")
    return found


def _declared(given: Mapping[str, Any], space: str, names: dict[str, Node]) -> Node:
    kind = given.get("type")  # of whatever type: no set can be asked for it
    if kind in ("record", "error"):
        return _record(given, space, names)
    if kind in ("array", "map"):
        inner = given.get("items" if kind == "array" else "values")
        return Node(kind, parts=[_node(inner, space, names)])
    if kind in ("enum", "fixed"):
        return _logical(_named(given, str(kind), space, names), given)
    if isinstance(kind, str) and kind in PRIMITIVES:
        return _logical(Node(kind), given)
    return _node(kind, space, names)


def _record(given: Mapping[str, Any], space: str, names: dict[str, Node]) -> Node:
    node = _named(given, "record", space, names)
    inner = node.name.rpartition(".")[0]
    members = given.get("fields")
    if not isinstance(members, list):
        raise SchemaInvalid(f"record {node.name} has no list of fields")
    for member in members:
        if not isinstance(member, dict) or not isinstance(member.get("name"), str):
            raise SchemaInvalid(f"a field of record {node.name} has no name")
        node.fields.append(
            NodeField(
                member["name"],
                _node(member.get("type"), inner, names),
                _aliases(member),
                member.get("default", NO_DEFAULT),
            )
        )
    if len({each.name for each in node.fields}) < len(node.fields):
        raise SchemaInvalid(f"record {node.name} has two fields of one name")
    return node


def _named(given: Mapping[str, Any], kind: str, space: str, names: dict[str, Node]) -> Node:
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise SchemaInvalid(f"a {kind} has no name")
    full = _full(name, str(given.get("namespace", space) or ""))
    inner = full.rpartition(".")[0]
    node = Node(kind, full, tuple(_full(alias, inner) for alias in _aliases(given)))
    if kind == "enum":
        symbols = given.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
            raise SchemaInvalid(f"enum {full} has no list of symbols")
        node.symbols, node.default = tuple(symbols), given.get("default")
    if kind == "fixed":
        size = given.get("size")
        if not isinstance(size, int) or size < 0:
            raise SchemaInvalid(f"fixed {full} has no size")
        node.size = size
    if full in names:
        raise SchemaInvalid(f"two types are named {full}")
    names[full] = node
    return node


def _aliases(given: Mapping[str, Any]) -> tuple[str, ...]:
    found = given.get("aliases") or ()
    if not isinstance(found, list | tuple):
        raise SchemaInvalid(f"the aliases of {given['name']} are no list")
    return tuple(map(str, found))


def _logical(node: Node, given: Mapping[str, Any]) -> Node:
    logical = given.get("logicalType")
    if not isinstance(logical, str) or node.kind not in LOGICAL.get(logical, ()):
        return node
    if logical == "uuid" and node.kind == "fixed" and node.size != 16:  # noqa: PLR2004 - bytes of a UUID
        return node
    if logical == "decimal":
        precision, scale = given.get("precision"), given.get("scale", 0)
        valid = isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision
        if not valid or not precision:
            return node
        node.precision, node.scale = precision, scale
    node.logical = logical
    return node


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"
