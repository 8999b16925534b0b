"""Avro schema: the columns that a schema gives, plain or in Debezium's envelope. Its declared
records are expanded into a bounded number of parts, however types use each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from spark_jobs.decode.schemas.avro import Node, parse
from spark_jobs.draft.leaf import DEEPEST, MOST, Kind

if TYPE_CHECKING:
    from spark_jobs.decode.schemas.schema import Schema
    from spark_jobs.spec.fields.place import Envelope
    from spark_jobs.values.path import Path

T = TypeVar("T")
ROUNDS: Final = DEEPEST - 1


def expanded(parts: Iterable[T], within: Callable[[T], Sequence[T]]) -> list[T]:
    """Level by level each part is replaced by those within it, while there are MOST at most. A part
    for which there is no room stays whole. `within` is empty for what has no parts.
    """
    level = list(parts)[:MOST]
    for _ in range(ROUNDS):
        room, below = MOST - len(level), list[T]()
        for each in level:
            inner = within(each)
            fits = bool(inner) and len(inner) - 1 <= room
            room -= len(inner) - 1 if fits else 0
            below.extend(inner if fits else [each])
        level = below
    return level


TYPES: Final = {
    **dict.fromkeys(("string", "enum", "uuid"), "string"),
    **dict.fromkeys(("bytes", "fixed"), "binary"),
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    **{f"timestamp-{unit}": "timestamp" for unit in ("millis", "micros", "nanos")},
    **{f"local-timestamp-{unit}": "timestamp_ntz" for unit in ("millis", "micros", "nanos")},
}
"""Kind or logical type -> a field's type. Of any other the value is kept as JSON."""
MOST_DIGITS: Final = 38
"""Of a decimal of Spark's."""


class Column(NamedTuple):
    """One path of a record."""

    path: Path
    kind: Kind
    optional: bool


class Layout(NamedTuple):
    """What a schema's records have."""

    envelope: Envelope | None
    row: Mapping[Path, Column]
    around: Mapping[Path, Column]
    """Of Debezium: the position in the log."""


def layout(schema: Schema) -> Layout:
    """Of a schema of Avro."""
    node = parse(schema.text, [text for _, text in schema.references])
    parts = {each.name: _part(each.node)[0] for each in node.fields}
    row = parts.get("after") or parts.get("before")
    if "op" in parts and row is not None and row.kind == "record":
        source = parts.get("source")
        around = _columns(source, ("source",)) if source and source.kind == "record" else ()
        lsn: dict[Path, Column] = {
            each.path: each for each in around if each.path == ("source", "lsn")
        }
        return Layout("debezium", {each.path: each for each in _columns(row, ())}, lsn)
    return Layout(None, {each.path: each for each in _columns(node, ())}, {})


def _part(node: Node) -> tuple[Node, bool]:
    if node.kind != "union":
        return node, False
    parts = [each for each in node.parts if each.kind != "null"]
    return (parts[0] if len(parts) == 1 else node), len(parts) < len(node.parts)


class _Place(NamedTuple):
    """A part of a record, and where it is."""

    path: Path
    node: Node
    optional: bool

    def within(self) -> list[_Place]:
        """Its own fields, if it is a record."""
        found = []
        for field in self.node.fields:
            part, nullable = _part(field.node)
            found.append(_Place((*self.path, field.name), part, self.optional or nullable))
        return found


def _columns(node: Node, path: Path) -> list[Column]:
    places = expanded(_Place(path, node, optional=False).within(), _Place.within)
    return [Column(each.path, _kind(each.node), each.optional) for each in places]


def _kind(node: Node) -> Kind:
    if node.logical == "decimal" and node.precision <= MOST_DIGITS:
        return Kind(f"decimal({node.precision},{node.scale})")
    if node.kind == "array" and (inner := TYPES.get(node.parts[0].logical or node.parts[0].kind)):
        return Kind(f"array<{inner}>")
    found = TYPES.get(node.logical) or TYPES.get(node.kind)
    if found is None or node.logical == "decimal":
        return Kind("string", "json")
    return Kind(found)
