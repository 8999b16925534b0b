"""Avro: object container files, a record's bytes as they stand in their block. The format declares
the schema of all files: one that names another is refused.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from spark_jobs.decode.avro.decoder import passing
from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.schemas.avro import Node, SchemaInvalid, parse
from spark_jobs.decode.schemed.varint import LONGEST, number
from spark_jobs.errors import FilesUnfit
from spark_jobs.files.layout import At, Counted
from spark_jobs.spec import Avro

if TYPE_CHECKING:
    from spark_jobs.spec import Files

MAGIC: Final = b"Obj\x01"
MORE: Final = 128
"""The bit of a byte that says that the number goes on."""
MOST: Final = 256_000_000
"""Bytes of a block, compressed or not."""
DAMAGED: Final = (
    Wrong, IndexError, ValueError, OverflowError, RecursionError, EOFError, OSError, zlib.error,
    lzma.LZMAError, pa.ArrowException,
)  # fmt: skip
"""What reading raises where bytes are not as Avro says."""


def _deflate(block: bytes) -> bytes:
    made = zlib.decompressobj(-15)
    return _bounded(made.decompress(block, MOST + 1))


def _snappy(block: bytes) -> bytes:
    size, at, shift = 0, 0, 0
    while True:
        size |= (block[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if block[at - 1] < MORE:
            break
    if size > MOST:
        raise Wrong("a block is too large")
    found = pa.Codec("snappy").decompress(block[:-4], size, asbytes=True)
    if zlib.crc32(found) != int.from_bytes(block[-4:], "big"):
        raise Wrong("a block has another checksum")
    return bytes(found)


def _zstandard(block: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(block), "zstd") as file:
        return _bounded(file.read(MOST + 1))


def _bounded(found: bytes) -> bytes:
    if len(found) > MOST:
        raise Wrong("a block is too large")
    return found


CODECS: Final[Mapping[str, Callable[[bytes], bytes]]] = MappingProxyType({
    "null": bytes,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": lambda block: _bounded(bz2.BZ2Decompressor().decompress(block, MOST + 1)),
    "xz": lambda block: _bounded(lzma.LZMADecompressor().decompress(block, MOST + 1)),
})  # fmt: skip


class Header(NamedTuple):
    """What a file says of itself."""

    schema: str
    codec: str
    sync: bytes
    """What stands behind each block."""


class AvroFile:
    """See Layout."""

    def __init__(self, declared: Files) -> None:
        assert isinstance(declared.format, Avro)
        self._path = declared.path
        self._schema = parse(declared.format.wrote)
        self._passes = passing(self._schema)

    def refuse_name(self, name: str) -> None:
        """See Layout: what a file is, its first bytes say."""

    def grows(self, name: str, *, ended: bool, more: bytes) -> bool:  # noqa: ARG002 - as the port has it
        return False

    def count(self, file: IO[bytes], name: str, start: int, stop: int) -> Counted:  # noqa: ARG002 - as the port has it
        """See Layout. Each record is passed once: none fails when it is read."""
        return Counted(sum(1 for _ in self._records(file, name)))

    def read(self, file: IO[bytes], name: str, at: At) -> Iterator[bytes]:
        return islice(self._records(file, name), at.skip, None)

    def place(self, file: IO[bytes], name: str, at: At) -> str:  # noqa: ARG002 - as the port has it
        return f"record {at.skip + 1:,}"

    def _records(self, file: IO[bytes], name: str) -> Iterator[bytes]:
        try:
            header = _header(file)
            self._refuse_other(header, name)
            for count, block in _blocks(file, header):
                at = 0
                for _ in range(count):
                    behind = self._passes(block, at)
                    yield block[at:behind]
                    at = behind
                if at != len(block):
                    raise Wrong("bytes follow the records of a block")
        except DAMAGED as error:
            why = str(error) or type(error).__name__
            raise FilesUnfit.damaged(name=name, path=self._path, error=why) from None

    def _refuse_other(self, header: Header, name: str) -> None:
        try:
            same = same_type(parse(header.schema), self._schema)
        except SchemaInvalid:
            same = False
        if not same:
            raise FilesUnfit.other_schema(name=name, path=self._path, schema=header.schema)


def _header(file: IO[bytes]) -> Header:
    if file.read(4) != MAGIC:
        raise Wrong("it does not begin as an Avro file does")
    about = dict[str, bytes]()
    while count := _number(file):
        if count < 0:
            count = -count
            _number(file)
        for _ in range(count):
            key = _bytes(file).decode()
            about[key] = _bytes(file)
    codec = about.get("avro.codec", b"null").decode() or "null"
    if codec not in CODECS:
        raise Wrong(f"its codec is {codec}, and Sluice reads {', '.join(CODECS)}")
    return Header(about.get("avro.schema", b"").decode(), codec, _exactly(file, 16))


def _blocks(file: IO[bytes], header: Header) -> Iterator[tuple[int, bytes]]:
    """How many records a block has, and its bytes."""
    while first := file.read(1):
        count = _number(file, first)
        block = CODECS[header.codec](_bytes(file))
        if _exactly(file, 16) != header.sync:
            raise Wrong("a block does not end as the file says")
        if not 0 <= count <= max(len(block), 1000):  # of no bytes there could be billions
            raise Wrong("a block has a wrong count")
        yield count, block


def _number(file: IO[bytes], read: bytes = b"") -> int:
    while not read or (read[-1] >= MORE and len(read) < LONGEST):
        read += _exactly(file, 1)
    found, _ = number(read + bytes(10), 0)
    return (found >> 1) ^ -(found & 1)


def _bytes(file: IO[bytes]) -> bytes:
    size = _number(file)
    if not 0 <= size <= MOST:
        raise Wrong(f"a length is {size:,} bytes")
    return _exactly(file, size)


def _exactly(file: IO[bytes], size: int) -> bytes:
    found = file.read(size)
    if len(found) < size:
        raise Wrong("the file ends amid a block")
    return found


def same_type(one: Node, other: Node, seen: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Whether both write the same bytes for the same values, under the same names."""
    if (id(one), id(other)) in seen:  # a record within itself
        return True
    facts = [
        (of.kind, of.name, of.logical, of.scale, of.precision, of.size, of.symbols)
        for of in (one, other)
    ]
    parts = [
        ([each.name for each in of.fields], [each.node for each in of.fields] + of.parts)
        for of in (one, other)
    ]
    (names, inner), (other_names, others) = parts
    below = seen | {(id(one), id(other))}
    return (
        facts[0] == facts[1]
        and names == other_names
        and len(inner) == len(others)
        and all(same_type(a, b, below) for a, b in zip(inner, others, strict=True))
    )
