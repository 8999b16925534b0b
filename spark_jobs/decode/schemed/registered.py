"""Registered: values that begin with the id of their schema (Confluent's wire format): a byte 0 and
four of the id; a batch may have several ids, and each has a function of its own.

Newer clients write the id into a header: a byte 1 and the 16 of a GUID, of Protobuf also the places
of the message. What such a header has is put in front of its value, and read there. Counted is how
many records have each id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records, together
from spark_jobs.decode.headers import Headers
from spark_jobs.decode.schemed.objects import Objects, Read
from spark_jobs.errors import RegistryUnreachable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.decode.schemas.schema import Schema, Schemas
    from spark_jobs.decode.slices import Ids

HEAD: Final = 5
"""Bytes of an id in front of a value."""
LARGEST: Final = 2**31 - 1
"""The largest id: registries count in 32 bits with a sign."""
NO_HEAD: Final = "it does not begin with the id of a schema: a byte 0 and four of the id"


GUID: Final = 17
"""Bytes of an id that is a GUID, in a header."""
WRONG: Final = b"header"
"""In the place of an id: the header has none."""
NO_ID: Final = "its header has no id of a schema: a byte 1 and the 16 of a GUID"


def header_of(part: str) -> str:
    """The header with the id of a value or a key."""
    return f"__{part}_schema_id"


def not_kept(number: str) -> str:
    """Why a record is malformed for whose schema nobody asked."""
    return f"schema {number} is not kept here"


class Given(NamedTuple):
    """What the tasks get from the driver."""

    schemas: Schemas
    whole: bool
    """Whether every id of the records was looked up: one that is not there is an error then, and
    not a reason.
    """
    header: str = ""
    """The header that has the ids, if one has."""


class Reader(Protocol):
    """Reads the records of one schema."""

    def read(self, values: Sequence[bytes], start: int, /) -> Read:
        """The values, from this byte of each on. Never raises for what is in them."""


def head_of(header: bytes) -> bytes:
    """The id in a header, without what is behind it."""
    return header[:GUID] if header[:1] == b"\1" else header[:HEAD]


def schema_id(head: bytes) -> str | None:
    """The id in front of a value, or in a header: a number, or a GUID; None if it is none."""
    if len(head) == GUID and head[0] == 1:
        return str(UUID(bytes=head[1:]))
    if len(head) != HEAD or head[0]:
        return None
    number = int.from_bytes(head[1:], "big")
    return str(number) if number <= LARGEST else None


class Registered:
    """Decodes values by their ids. `make`: a schema's reader. `placed`: whether the places of the
    message are behind an id.
    """

    def __init__(
        self,
        objects: Objects,
        given: Given,
        make: Callable[[Schema], Reader],
        *,
        placed: bool = False,
    ) -> None:
        self._objects, self._given, self._make, self._placed = objects, given, make, placed
        self._readers: dict[str, Reader | str] = {}

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        import numpy as np  # noqa: PLC0415 - a process that only plans needs none of them
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        values, heads = records.values, pc.binary_slice(records.values, 0, HEAD)
        if self._given.header:
            values, heads = self._put_in_front(records)
        coded = heads.dictionary_encode()
        numbers = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        known = np.unique(numbers)
        if len(known) <= 1:
            return self._of(heads[0].as_py() if len(heads) else None, values)
        order = np.argsort(numbers, kind="stable")
        groups = np.split(order, np.searchsorted(numbers[order], known[1:]))
        parts = [self._of(heads[int(at[0])].as_py(), values.take(pa.array(at))) for at in groups]
        return together(parts, groups)

    def _put_in_front(self, records: Records) -> tuple[pa.Array, pa.Array]:
        """The values, with what the header has in front of each that has such a header; and what
        each begins with.
        """
        import pyarrow as pa  # noqa: PLC0415 - as above

        values: list[bytes | None] = records.values.to_pylist()
        heads = [value and value[:HEAD] for value in values]
        headers = Headers(records.headers).last(self._given.header).to_pylist()
        for index, (header, value) in enumerate(zip(headers, values, strict=True)):
            if header is not None and value is not None:
                head = head_of(header)
                whole = schema_id(head) and (self._placed or head == header)
                heads[index] = head if whole else WRONG
                values[index] = header + value
        return pa.array(values, pa.binary()), pa.array(heads, pa.binary())

    def _of(self, head: bytes | None, values: pa.Array) -> Decoded:
        if not head:
            return self._malformed(TOMBSTONE if head is None else EMPTY, len(values))
        number = schema_id(head)
        if number is None:
            return self._malformed(NO_ID if head == WRONG else NO_HEAD, len(values))
        reader = self._reader(number)
        if isinstance(reader, str):
            return self._malformed(reader, len(values))

        read = reader.read(values.to_pylist(), len(head))
        named = {index: f"{why} (schema {number})" for index, why in read.wrong.items()}
        return self._objects.columns(read._replace(wrong=named), len(values))

    def _reader(self, number: str) -> Reader | str:
        """Of a schema; or why all its records are malformed."""
        if number not in self._readers:
            schemas, whole, _ = self._given
            if number not in schemas and whole:
                raise RegistryUnreachable.schema_not_kept(number=number)
            found = schemas.get(number, not_kept(number))
            self._readers[number] = found if isinstance(found, str) else self._make(found)
        return self._readers[number]

    def _malformed(self, why: str, count: int) -> Decoded:
        return self._objects.columns(Read({}, {}, dict.fromkeys(range(count), why)), count)


MOST: Final = 100
"""Ids of one part of a batch, the most frequent: records of another format give as many as they
like.
"""


def heads_of(raw: pa.StructArray, part: str, *, in_header: bool) -> pa.Array:
    """What may be the id of each record: of its header, or in front of the part."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as below

    values = raw.field(part)
    heads = pc.binary_slice(values, 0, HEAD)
    if not in_header:
        return heads
    told = Headers(raw.field("headers")).last(header_of(part))
    of_guid = pc.equal(pc.binary_slice(told, 0, 1), b"\1")
    told = pc.if_else(of_guid, pc.binary_slice(told, 0, GUID), pc.binary_slice(told, 0, HEAD))
    return pc.if_else(pc.is_valid(values), pc.coalesce(told, heads), heads)


def counted(
    raw: pa.StructArray, part: str, begins: npt.NDArray[np.int64], *, in_header: bool
) -> list[Ids]:
    """Of each run of records that begins at `begins`, the ids of a part. `raw` has the records as
    Kafka has them.
    """
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither

    found: list[list[tuple[str, int]]] = [[] for _ in begins]
    heads = heads_of(raw, part, in_header=in_header).dictionary_encode()
    numbers = heads.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    ids = {
        number: name
        for number, head in enumerate(heads.dictionary.to_pylist())
        if (name := schema_id(head))
    }
    often = Counter(dict(zip(*map(list, np.unique(numbers, return_counts=True)), strict=True)))
    for number in [each for each, _ in often.most_common() if each in ids][:MOST]:
        name = ids[number] if part == "value" else f"{part} {ids[number]}"
        counts = np.add.reduceat((numbers == number).astype("int64"), begins).tolist()
        for ids_of_slice, count in zip(found, counts, strict=True):
            if count:
                ids_of_slice.append((name, count))
    return [tuple(each) for each in found]
