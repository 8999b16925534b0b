"""The shape of an Avro schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.decode.schemed.shape import ANY, Shape, either, scalar

if TYPE_CHECKING:
    from spark_jobs.schemas.avro import Node

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
