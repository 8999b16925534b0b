"""Protobuf schema: the columns that a message of it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor as F

from spark_jobs.decode.protobuf.decoder import indexes_of
from spark_jobs.decode.protobuf.messages import (
    AS_JSON,
    DECIMAL,
    TIMESTAMP,
    WRAPPERS,
    Messages,
    is_map,
)
from spark_jobs.decode.schemed.registered import HEAD
from spark_jobs.draft.avro_schema import Column, Layout, expanded
from spark_jobs.draft.leaf import Kind

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from spark_jobs.decode.schemas.schema import Schema
    from spark_jobs.values.path import Path

TYPES: Final = {
    **dict.fromkeys((F.TYPE_STRING, F.TYPE_ENUM), "string"),
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), "int"),
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), "bigint"),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), "bigint"),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), "decimal(20,0)"),
    F.TYPE_BYTES: "binary",
    F.TYPE_BOOL: "boolean",
    F.TYPE_FLOAT: "float",
    F.TYPE_DOUBLE: "double",
}
WITHOUT_PARTS: Final = WRAPPERS | AS_JSON | {TIMESTAMP, DECIMAL}
"""Messages that are a value each."""


def message_of(schema: Schema, value: bytes) -> str | None:
    """The full name of a record's message; None if its schema has none at the places that it says.
    Raises ValueError or IndexError if it says none.
    """
    assert schema.descriptor is not None
    return Messages(schema.descriptor).name(indexes_of(value, HEAD)[0])


def layout(schema: Schema, message: str) -> Layout | None:
    """Of a message of the schema; None if it has none of this name."""
    try:
        found = Messages(schema.descriptor or b"").of(message)
    except (KeyError, IndexError):
        return None
    return Layout(None, {each.path: each for each in _columns(found.descriptor)}, {})


class _Place(NamedTuple):
    """A field of a message, and where it is."""

    path: Path
    field: F
    optional: bool

    def within(self) -> list[_Place]:
        """The fields of its message, if it has one."""
        inner = self.field.message_type
        if inner is None or self.field.is_repeated or inner.full_name in WITHOUT_PARTS:
            return []
        return _places(inner, self.path, optional=self.optional)


def _places(message: Descriptor, path: Path, *, optional: bool) -> list[_Place]:
    """What has no presence is never null."""
    return [
        _Place((*path, field.name), field, optional or field.has_presence)
        for field in message.fields
    ]


def _columns(message: Descriptor) -> list[Column]:
    places = expanded(_places(message, (), optional=False), _Place.within)
    return [Column(each.path, _kind(each.field), each.optional) for each in places]


def _kind(field: F) -> Kind:
    found = None if is_map(field) else _value(field)
    if found is None:
        return Kind("string", "json")
    return Kind(f"array<{found}>") if field.is_repeated else Kind(found)


def _value(field: F) -> str | None:
    if field.message_type is None:
        return TYPES[field.type]
    name = field.message_type.full_name
    if name in WRAPPERS:
        return _value(field.message_type.fields_by_name["value"])
    return "timestamp" if name == TIMESTAMP else None
