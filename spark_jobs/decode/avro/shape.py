"""The shape of an Avro schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.decode.schemed.objects import Wire
from spark_jobs.decode.schemed.shape import ANY, Shape, either, scalar

if TYPE_CHECKING:
    from spark_jobs.decode.schemas.avro import Node

KINDS: Final = {
    **dict.fromkeys(("string", "enum"), "text"),
    **dict.fromkeys(("int", "long"), "whole number"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("bytes", "fixed"), "bytes"),
    "boolean": "boolean",
}
LOGICAL: Final = {
    "date": "date",
    "decimal": "decimal",
    "uuid": "text",
    **{f"timestamp-{unit}": "timestamp" for unit in ("millis", "micros", "nanos")},
    **{f"local-timestamp-{unit}": "timestamp_ntz" for unit in ("millis", "micros", "nanos")},
}

UNITS: Final = {"millis": "ms", "micros": "us", "nanos": "ns"}
ZONED: Final = {"timestamp": "timestamp", "local-timestamp": "timestamp_ntz"}


def shape_of(node: Node) -> Shape:
    """Of a type; of one in a union, one of them."""
    if node.kind == "union":
        return either(shape_of(part) for part in node.parts if part.kind != "null")
    if node.kind == "record":
        fields = {each.name: each.node for each in node.fields}
        return Shape(
            frozenset(("object",)),
            lambda key: shape_of(fields[str(key)]) if key in fields else None,
        )
    if node.kind in ("array", "map"):
        [part] = node.parts
        kind = "array" if node.kind == "array" else "object"
        return Shape(frozenset((kind,)), lambda _: shape_of(part))
    if node.logical:
        return scalar(LOGICAL.get(node.logical, ANY))
    return scalar(KINDS.get(node.kind, ANY))


def wire(node: Node) -> Wire | None:
    """How its numbers are times, alone or in a union with null."""
    if node.kind == "union":
        parts = [part for part in node.parts if part.kind != "null"]
        node = parts[0] if len(parts) == 1 else node
    if node.logical == "date":
        return Wire("date", "days")
    kind, _, unit = node.logical.rpartition("-")
    return Wire(ZONED[kind], UNITS[unit]) if kind in ZONED else None
