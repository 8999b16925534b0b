"""Messages: the classes of a FileDescriptorSet, and what each of their fields gives in Python.

Presence is Protobuf's: a field that has none is its default where it is not sent (0, empty text),
and one that has it, a message or an `optional`, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F

from spark_jobs.decode.schemed.unreadable import unreadable
from spark_jobs.values.conversions import EPOCH

Get = Callable[[Any], Any]
"""A message -> the value of a field of it, or of itself."""
WIDER: Final[dict[Any, Any]] = {
    F.TYPE_INT32: F.TYPE_INT64,
    F.TYPE_UINT32: F.TYPE_UINT64,
    F.TYPE_SINT32: F.TYPE_SINT64,
}
"""Type of a field -> the one of 64 bits with its bytes. Those of a fixed size have others."""
DECIMAL: Final = "confluent.type.Decimal"
MOST_BYTES: Final = 17
"""Of 38 digits."""
MOST_SCALE: Final = 38
TIMESTAMP: Final = "google.protobuf.Timestamp"
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
SECOND: Final = 1_000_000_000
WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
AS_JSON: Final = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))


class Messages:
    """The messages of one set. Raises TypeError or KeyError where the set is none."""

    def __init__(self, described: bytes) -> None:
        files = descriptor_pb2.FileDescriptorSet.FromString(described).file
        self._pool = descriptor_pool.DescriptorPool()
        for file in files:
            self._pool.Add(file)
        self._own = files[-1]

    def name(self, indexes: Sequence[int]) -> str | None:
        """The full name of the message at these places of the last file; None if there is none."""
        inside, name = self._own.message_type, str(self._own.package)
        for index in indexes:
            if not 0 <= index < len(inside):
                return None
            name = f"{name}.{inside[index].name}" if name else inside[index].name
            inside = inside[index].nested_type
        return name

    def of(self, name: str) -> Message:
        """Raises KeyError if the set has none of that name."""
        return Message(self._pool.FindMessageTypeByName(name))


def widened(described: bytes) -> bytes:
    """The set with 64 bits for whole numbers of 32: they are the same bytes on the wire, and what a
    newer producer sends in a wider type is not cut. The topic's field says which numbers fit.
    """
    files = descriptor_pb2.FileDescriptorSet.FromString(described)
    for file in files.file:
        _widen([*file.message_type, *file.extension])
    found: bytes = files.SerializeToString()
    return found


def _widen(parts: list[Any]) -> None:
    for part in parts:
        if isinstance(part, descriptor_pb2.FieldDescriptorProto):
            part.type = WIDER.get(part.type, part.type)
        else:
            _widen([*part.field, *part.extension, *part.nested_type])


class Message:
    """One of them."""

    def __init__(self, descriptor: Descriptor) -> None:
        made = message_factory.GetMessageClass(descriptor)
        self.parse: Callable[[bytes], Any] = made.FromString
        self.descriptor = descriptor
        self.fields: dict[str, FieldDescriptor] = dict(descriptor.fields_by_name)

    def is_time(self, name: str) -> bool:
        """Whether the field is one time, which `ticks` gives as a number."""
        field = self.fields.get(name)
        return bool(field and not field.is_repeated and _name(field) == TIMESTAMP)

    def getter(self, name: str, *, ticks: bool, alone: bool = False) -> Get:
        """What gives the field's value in Python; with `ticks`, of a time microseconds. `alone`:
        one that cannot be said is Unreadable, and hides no other.
        """
        field = self.fields.get(name)
        if field is None:
            return nothing
        if ticks and self.is_time(name):
            return _present(name, microseconds)
        return _of_field(field, alone=alone)


def microseconds(message: Any) -> int:
    """Of a Timestamp, since 1970. Raises ValueError."""
    seconds, nanos = message.seconds, message.nanos
    if not FIRST_SECOND <= seconds <= LAST_SECOND or not 0 <= nanos < SECOND:
        raise ValueError("is no time of the years 1 to 9999")
    return int(seconds) * 1_000_000 + int(nanos) // 1000


def _of_field(field: FieldDescriptor, *, alone: bool) -> Get:
    name, value = field.name, _of_value(field, alone=alone)
    if field.is_repeated and is_map(field):
        parts = (field.message_type.fields_by_name[part] for part in ("key", "value"))
        key, of = (_of_value(part, alone=alone) for part in parts)
        return lambda message: {_key(key(k)): of(v) for k, v in getattr(message, name).items()}
    if field.is_repeated:
        return lambda message: [value(each) for each in getattr(message, name)]
    if field.has_presence:
        return _present(name, value)
    if value is _same:
        return attrgetter(name)
    return lambda message: value(getattr(message, name))


def _present(name: str, value: Get) -> Get:
    return lambda message: value(getattr(message, name)) if message.HasField(name) else None


def _of_value(field: FieldDescriptor, *, alone: bool) -> Get:
    if alone and not isinstance(made := _of_value(field, alone=False), _Nested):
        return made if made is _same else unreadable(made)
    if field.enum_type is not None:
        return _symbol(symbols(field.enum_type))
    name = _name(field)
    if not name:
        return _same
    if name in WRAPPERS:
        return attrgetter("value")
    if name in AS_JSON:
        return _as_json
    known = {TIMESTAMP: _time, DECIMAL: _decimal}
    return known.get(name) or _Nested(field.message_type, alone=alone)


class _Nested:
    """A message as a dict. Its fields are looked at when the first comes: a type may have itself in
    it.
    """

    def __init__(self, descriptor: Descriptor, *, alone: bool) -> None:
        self._descriptor, self._alone = descriptor, alone
        self._getters: list[tuple[str, Get]] | None = None

    def __call__(self, message: Any) -> dict[str, Any]:
        if self._getters is None:
            fields = self._descriptor.fields
            self._getters = [(each.name, _of_field(each, alone=self._alone)) for each in fields]
        return {name: get(message) for name, get in self._getters}


def symbols(enum: EnumDescriptor) -> dict[int, str]:
    """Number -> name; of two names (`allow_alias`) the first, as in Protobuf's JSON."""
    return {each.number: each.name for each in reversed(enum.values)}


def _symbol(names: dict[int, str]) -> Get:
    def name(number: int) -> str:
        if number not in names:
            raise ValueError(f"is {number}, a number that its enum lacks")
        return names[number]

    return name


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key).lower()


def is_map(field: FieldDescriptor) -> bool:
    """Whether it is a map, which is a repeated message on the wire."""
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def _name(field: FieldDescriptor) -> str:
    return str(field.message_type.full_name) if field.message_type is not None else ""


def _same(value: Any) -> Any:
    return value


def _as_json(message: Any) -> Any:
    return json_format.MessageToDict(message)


def _time(message: Any) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds(message))


def _decimal(message: Any) -> Decimal:
    """Digits as bytes in two's complement, the first byte the highest."""
    if not 1 <= len(message.value) <= MOST_BYTES or abs(message.scale) > MOST_SCALE:
        raise ValueError("is no decimal of at most 38 digits")
    digits = int.from_bytes(message.value, "big", signed=True)
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -message.scale))


def nothing(_: Any) -> None:
    """Of a field that a message has not."""
