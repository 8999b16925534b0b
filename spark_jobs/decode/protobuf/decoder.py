"""Protobuf decoder: as the port has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor as F
from google.protobuf.message import DecodeError

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.protobuf.messages import (
    AS_JSON,
    DECIMAL,
    TIMESTAMP,
    WRAPPERS,
    Get,
    Message,
    Messages,
    is_map,
    nothing,
    widened,
)
from spark_jobs.decode.schemas.schema import Schema
from spark_jobs.decode.schemed.decoder import ANY, SchemedDecoder, Shape, scalar
from spark_jobs.decode.schemed.objects import Objects, Read, Wire
from spark_jobs.decode.schemed.registered import Given
from spark_jobs.decode.schemed.varint import number
from spark_jobs.errors import SpecInvalid

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from spark_jobs.spec import Protobuf, Topic
    from spark_jobs.spec.fields.place import Place

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


MOST_INDEXES: Final = 32
"""Depth of a message in its file."""
Parsed = tuple[Any, list[Get]]
"""A message, and what gives its values, in the order of the fields at the top."""


class ProtobufDecoder(SchemedDecoder):
    """As the port has it."""

    def __init__(
        self,
        format_: Protobuf,
        places: Sequence[Place],
        wanted: Sequence[str],
        given: Given | None,
        objects: Objects | None = None,
    ) -> None:
        self._message = format_.message
        described = Schema("PROTOBUF", "", (), format_.described)
        super().__init__(objects or Objects(places, wanted), given, described, placed=True)

    @staticmethod
    def shape(format_: Protobuf, topic: Topic) -> Shape | None:
        """Of the declared message; None if only the registry knows it. Raises SpecInvalid if the
        descriptor has no such message.
        """
        if format_.registry:
            return None
        try:
            return shape_of(Messages(format_.described).of(format_.message).descriptor)
        except (DecodeError, TypeError, KeyError, IndexError):
            raise SpecInvalid.no_descriptor(topic=topic.name, message=format_.message) from None

    def _of(self, schema: Schema) -> SchemaReader:
        return SchemaReader(schema, self._message, self._objects)


class SchemaReader:
    """Reads the messages of one schema."""

    def __init__(self, schema: Schema, message: str, objects: Objects) -> None:
        self._message = message
        self._tops, self._alone = objects.tops, objects.alone
        self._nothing: list[Get] = [nothing] * len(self._tops)
        self._read: dict[str, tuple[Message, list[Get]]] = {}
        self._times = frozenset[str]()
        self._why = ""
        if schema.descriptor is None:
            self._why = f"its schema is of {schema.kind}, not of PROTOBUF"
            return
        self._messages = Messages(widened(schema.descriptor))
        if message:
            try:
                only = self._messages.of(message)
            except KeyError:
                self._why = f"its schema has no message {message}"
                return
            self._times = frozenset(top for top in objects.raw if only.is_time(top))

    def read(self, values: Sequence[bytes], start: int) -> Read:
        """As registered.Reader has it."""
        if self._why:
            return Read({}, {}, dict.fromkeys(range(len(values)), self._why))
        wrong: dict[int, str] = {}
        found = [self._parsed(index, value, start, wrong) for index, value in enumerate(values)]
        columns = self._columns(found, wrong)
        wire = {name: Wire("timestamp", "us") for name in self._times}
        return Read(dict(zip(self._tops, columns, strict=True)), wire, wrong)

    def _parsed(self, index: int, value: bytes, start: int, wrong: dict[int, str]) -> Parsed:
        """The message and its getters; those of nothing if it is malformed."""
        try:
            name = self._message
            if start:
                indexes, start = indexes_of(value, start)
                name = self._named(indexes)
            message, getters = self._known(name)
            parsed = message.parse(value[start:])
            if parsed.IsInitialized():
                return parsed, getters
            wrong[index] = "it lacks a required field of its message"
        except IndexError:
            wrong[index] = "it ends before its message"
        except DecodeError:
            wrong[index] = f"it is no {self._message or 'message'} in Protobuf's encoding"
        except ValueError as error:
            wrong[index] = str(error)
        return None, self._nothing

    def _columns(self, found: Sequence[Parsed], wrong: dict[int, str]) -> list[list[Any]]:
        columns: list[list[Any]] = []
        for place, top in enumerate(self._tops):
            column: list[Any] = []
            rest = iter(found)
            while len(column) < len(found):
                try:
                    for message, getters in rest:
                        column.append(getters[place](message))
                except ValueError as error:  # `rest` is behind the bad one
                    wrong.setdefault(len(column), f"`$.{top}` {error}"[:180])
                    column.append(None)
            columns.append(column)
        return columns

    def _named(self, indexes: Sequence[int]) -> str:
        found = self._messages.name(indexes)
        if found is None or (self._message and found != self._message):
            wanted = self._message or "one"
            raise Wrong(f"its message is {found or 'none of its schema'}, not {wanted}")
        return found

    def _known(self, name: str) -> tuple[Message, list[Get]]:
        if name not in self._read:
            message = self._messages.of(name)
            getters = [
                message.getter(top, ticks=top in self._times, alone=self._alone)
                for top in self._tops
            ]
            self._read[name] = message, getters
        return self._read[name]


def indexes_of(value: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Where in its file the message is: places, each in the one before; and where it begins."""
    count, start = number(value, start)
    if not count:
        return (0,), start  # the first message, as most are
    if count & 1 or count >> 1 > MOST_INDEXES:
        raise Wrong("it has no places of its message in front of it")
    found = []
    for _ in range(count >> 1):
        index, start = number(value, start)
        found.append(-1 if index & 1 else index >> 1)
    return tuple(found), start
