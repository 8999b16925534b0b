"""The shape of a Protobuf message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FieldDescriptor as F

from spark_jobs.decode.protobuf.messages import AS_JSON, DECIMAL, TIMESTAMP, WRAPPERS, is_map
from spark_jobs.decode.schemed.shape import ANY, Shape, scalar

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

NAMED: Final = {TIMESTAMP: "timestamp", DECIMAL: "decimal"}
KINDS: Final = {
    **dict.fromkeys(
        (F.CPPTYPE_INT32, F.CPPTYPE_INT64, F.CPPTYPE_UINT32, F.CPPTYPE_UINT64), "whole number"
    ),
    **dict.fromkeys((F.CPPTYPE_FLOAT, F.CPPTYPE_DOUBLE), "number"),
    F.CPPTYPE_BOOL: "boolean",
    F.CPPTYPE_ENUM: "text",
}


def shape_of(message: Descriptor) -> Shape:
    """Of a message."""
    fields = dict(message.fields_by_name)
    return Shape(
        frozenset(("object",)), lambda key: _field(fields[str(key)]) if key in fields else None
    )


def _field(field: F) -> Shape:
    if not field.is_repeated:
        return _value(field)
    if is_map(field):
        value = field.message_type.fields_by_name["value"]
        return Shape(frozenset(("object",)), lambda _: _value(value))
    return Shape(frozenset(("array",)), lambda _: _value(field))


def _value(field: F) -> Shape:
    if field.message_type is None:
        if field.cpp_type == F.CPPTYPE_STRING:
            return scalar("bytes" if field.type == F.TYPE_BYTES else "text")
        return scalar(KINDS.get(field.cpp_type, ANY))
    name = str(field.message_type.full_name)
    if name in NAMED:
        return scalar(NAMED[name])
    if name in WRAPPERS:
        return _value(field.message_type.fields_by_name["value"])
    return scalar(ANY) if name in AS_JSON else shape_of(field.message_type)
