"""Registered: values that begin with the id of their schema (Confluent's wire format): a byte 0 and
four of the id; a batch may have several ids, and each has a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.decode.schemed.objects import Objects, Read
from spark_jobs.decode.together import together
from spark_jobs.errors import RegistryUnreachable

if TYPE_CHECKING:
    from spark_jobs.schemas.schema import Schema, Schemas

HEAD: Final = 5
"""Bytes in front of the record."""
LARGEST: Final = 2**31 - 1
"""The largest id: registries count in 32 bits with a sign."""
NO_HEAD: Final = "it does not begin with the id of a schema: a byte 0 and four of the id"


class Given(NamedTuple):
    """What the tasks get from the driver."""

    schemas: Schemas
    whole: bool
    """Whether every id of the records was looked up: one that is not there is an error then, and
    not a reason.
    """


class Reader(Protocol):
    """Reads the records of one schema."""

    def read(self, values: Sequence[bytes], start: int, /) -> Read:
        """The values, from this byte of each on. Never raises for what is in them."""


def schema_id(value: bytes) -> str | None:
    """The id in front of a value; None if there is none."""
    if len(value) < HEAD or value[0]:
        return None
    number = int.from_bytes(value[1:HEAD], "big")
    return str(number) if number <= LARGEST else None


class Registered:
    """Decodes values by their ids. `make`: a schema's reader."""

    def __init__(self, objects: Objects, given: Given, make: Callable[[Schema], Reader]) -> None:
        self._objects, self._given, self._make = objects, given, make
        self._readers: dict[str, Reader | str] = {}

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        """As the port has it."""
        groups: dict[bytes | None, list[int]] = {}
        for index, value in enumerate(values):
            groups.setdefault(value and value[:HEAD], []).append(index)
        parts = [self._of(head, [values[index] for index in at]) for head, at in groups.items()]
        return together(parts, [*groups.values()])

    def _of(self, head: bytes | None, values: Sequence[Any]) -> Decoded:
        if not head:
            return self._malformed(TOMBSTONE if head is None else EMPTY, len(values))
        number = schema_id(head)
        if number is None:
            return self._malformed(NO_HEAD, len(values))
        reader = self._reader(number)
        if isinstance(reader, str):
            return self._malformed(reader, len(values))
        read = reader.read(values, HEAD)
        named = {index: f"{why} (schema {number})" for index, why in read.wrong.items()}
        return Decoded(*self._objects.columns(read._replace(wrong=named), len(values)))

    def _reader(self, number: str) -> Reader | str:
        """Of a schema; or why all its records are malformed."""
        if number not in self._readers:
            schemas, whole = self._given
            if number not in schemas and whole:
                raise RegistryUnreachable.schema_not_kept(number=number)
            schema = schemas.get(number)
            self._readers[number] = (
                self._make(schema)
                if schema
                else f"the registry has no schema {number}"
                if number in schemas
                else f"schema {number} is not kept here"
            )
        return self._readers[number]

    def _malformed(self, why: str, count: int) -> Decoded:
        return Decoded(
            *self._objects.columns(Read({}, {}, dict.fromkeys(range(count), why)), count)
        )


def decoded(
    records: Records, objects: Objects, registered: Registered | None, alone: Reader | None
) -> Decoded:
    """Of values with ids, or of those that `alone` reads whole."""
    values = records.values.to_pylist()
    if registered:
        return registered.decode(values)
    assert alone
    read = alone.read([value or b"" for value in values], 0)
    for index, value in enumerate(values):
        if not value:
            read.wrong[index] = TOMBSTONE if value is None else EMPTY
    return Decoded(*objects.columns(read, len(values)))
