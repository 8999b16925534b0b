"""Thrift: one call of a service by Thrift's binary protocol, over a plain socket.

Structs keep fields that nobody here knows, so what is read can be changed and written back.
Source: "Thrift Binary protocol encoding" of Apache Thrift (the strict form), unframed as the Hive
metastore speaks it.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, Final, NamedTuple

BOOL, BYTE, DOUBLE, I16, I32, I64 = 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15
_STOP: Final = 0
_CALL, _EXCEPTION = 1, 3
_VERSION: Final = 0x80010000
_NUMBERS: Final = {BOOL: ">?", BYTE: ">b", DOUBLE: ">d", I16: ">h", I32: ">i", I64: ">q"}
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of a text: what is longer comes from another kind of server."""


class Value(NamedTuple):
    """A field's value with its kind. Of a list it is the elements' kind and they; of a map both
    kinds and a dict; of a struct number of a field -> Value; a text is bytes.
    """

    kind: int
    value: Any


Fields = dict[int, Value]


class Refused(Exception):
    """The service answered with an exception: `field` says which, 0 for one of Thrift's own."""

    def __init__(self, field: int, message: str) -> None:
        super().__init__(message)
        self.field = field


def text(given: str) -> Value:
    """A text."""
    return Value(STRING, given.encode())


def texts(given: Mapping[str, str]) -> Value:
    """A map of texts."""
    return Value(MAP, (STRING, STRING, {k.encode(): v.encode() for k, v in given.items()}))


def structs(given: list[Fields]) -> Value:
    """A list of structs."""
    return Value(LIST, (STRUCT, given))


def call(address: tuple[str, int], method: str, fields: Fields, seconds: float) -> Value | None:
    """The method's answer; None if it gives none. Raises OSError, EOFError or Refused."""
    name = method.encode()
    head = struct.pack(">Ii", _VERSION | _CALL, len(name)) + name + struct.pack(">i", 0)
    with socket.create_connection(address, seconds) as connection:
        connection.sendall(head + encoded(STRUCT, fields))
        with connection.makefile("rb") as answer:
            (version,) = struct.unpack(">I", _exactly(answer, 4))
            if version & 0xFFFF0000 != _VERSION:
                raise EOFError("it does not speak Thrift's binary protocol")
            decoded(answer, STRING)
            _exactly(answer, 4)
            found: Fields = decoded(answer, STRUCT)
    if version & 0xFF == _EXCEPTION:
        raise Refused(0, _message(found))
    for field, value in found.items():
        if field:
            raise Refused(field, _message(value.value))
    return found.get(0)


def _message(fields: Fields) -> str:
    given = fields.get(1)
    return given.value.decode(errors="replace") if given and given.kind == STRING else ""


def encoded(kind: int, value: Any) -> bytes:
    """The bytes of a value."""
    if number := _NUMBERS.get(kind):
        return struct.pack(number, value)
    if kind == STRING:
        return struct.pack(">i", len(value)) + bytes(value)
    if kind == STRUCT:
        parts = (struct.pack(">bh", v.kind, n) + encoded(*v) for n, v in value.items())
        return b"".join(parts) + bytes([_STOP])
    if kind == MAP:
        keys, values, pairs = value
        body = b"".join(encoded(keys, k) + encoded(values, v) for k, v in pairs.items())
        return struct.pack(">bbi", keys, values, len(pairs)) + body
    of, elements = value
    return struct.pack(">bi", of, len(elements)) + b"".join(encoded(of, each) for each in elements)


def decoded(given: BinaryIO, kind: int) -> Any:
    """The value that comes next."""

    def number(form: str) -> Any:
        return struct.unpack(form, _exactly(given, struct.calcsize(form)))[0]

    if form := _NUMBERS.get(kind):
        return number(form)
    if kind == STRING:
        return _exactly(given, number(">i"))
    if kind == STRUCT:
        fields: Fields = {}
        while (of := number(">b")) != _STOP:
            at = number(">h")
            fields[at] = Value(of, decoded(given, of))
        return fields
    if kind == MAP:
        keys, values, count = number(">b"), number(">b"), number(">i")
        return keys, values, {decoded(given, keys): decoded(given, values) for _ in range(count)}
    if kind in {LIST, SET}:
        of, count = number(">b"), number(">i")
        return of, [decoded(given, of) for _ in range(count)]
    raise EOFError(f"a value of kind {kind}, which Thrift has not")


def _exactly(given: BinaryIO, count: int) -> bytes:
    if not 0 <= count <= MOST_BYTES:
        raise EOFError("it does not speak Thrift's binary protocol")
    found = given.read(count)
    if len(found) < count:
        raise EOFError("it closed the connection")
    return found
