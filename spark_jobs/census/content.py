"""Content: how much of a file has what is looked for, without a JVM.

A file's form is told by its first and last bytes, not by its name: Parquet, archives, what is
compressed as a whole, and the entries of state stores: SSTs of RocksDB, snapshots and deltas of
Spark's HDFS provider. Of Parquet records are decoded, columns asked by the fields that they carry.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.census.words import Words, inflated, parsed
from spark_jobs.decode import alone
from spark_jobs.decode.formats import Records, taken_apart
from spark_jobs.decode.record_decoder import Prepared
from spark_jobs.spec.sql import names_in
from spark_jobs.table.arrow_rows import rows_of_file
from spark_jobs.table.rows_where import rows_where
from spark_jobs.values.conversions import arrow_type

if TYPE_CHECKING:
    from spark_jobs.spec import Topic

RECORD = {"partition", "offset", "key", "value", "kafka_timestamp"}
"""The columns of a table that has records as Kafka had them."""
Told = tuple[int, tuple[Any, ...]]
"""A row's number, and the values of the fields that stand in the condition."""
Carried = Mapping[str, tuple[str, ...]]
"""Field -> the columns of a table that have its value as it was."""
ROWS: Final = 100_000
"""Of a Parquet file that are in memory at once."""
MAGIC: Final = bytes.fromhex("f7cff485b741e288")
"""The end of an SST of RocksDB's block-based form."""
LZ4_BLOCK: Final = b"LZ4Block"
"""The start of each block of lz4-java's stream."""
_FOOTER, _TRAILER, _LZ4_HEAD = 53, 5, 21
_IS_LZ4: Final = 0x20
_SNAPPY, _DEFLATE = 1, 2
_MORE: Final = 0x80
"""In a byte of a number, that another one follows."""
_CODECS: Final = {1: "snappy", 4: "lz4_raw", 5: "lz4_raw", 7: "zstd"}


def count(
    content: bytes, words: Words, rows: Callable[[pa.Table], int], *, anywhere: bool = False
) -> int:
    """`rows` counts those of a part of a Parquet file. Raises whatever a form's reader raises."""
    if content[:4] == b"PAR1":
        return sum(map(rows, tables(content)))
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = map(archive.read, archive.infolist())
            return sum(count(each, words, rows, anywhere=anywhere) for each in parts)
    if content[-8:] == MAGIC:
        return sum(words.stored.search(each) is not None for each in sst_entries(content))
    if content[:8] == LZ4_BLOCK:
        return len(words.stored.findall(lz4_stream(content)))
    if (whole := inflated(content)) is not None:
        return count(whole, words, rows, anywhere=anywhere)
    return sum(
        words.in_bytes(each) if isinstance(each, bytes) else words.in_tree(each, anywhere=anywhere)
        for each in _documents(content)
    )


def tables(content: bytes) -> Iterator[pa.Table]:
    """The rows of a Parquet file, some at a time. INT96 times keep their years."""
    return rows_of_file(io.BytesIO(content), ROWS)


def _documents(content: bytes) -> Iterator[object]:
    """Of what is no text the whole is one: a number in it may have a line end's byte."""
    is_one = b"\0" in content or parsed(content) is not None
    for part in [content] if is_one else content.split(b"\n"):
        document = parsed(part)
        yield part if document is None else document


def sst_entries(content: bytes) -> Iterator[bytes]:
    """Key and value of each entry, as one text of bytes. Raises the errors of damage."""
    at = len(content) - _FOOTER + 1
    for _ in range(2):  # the meta index, which has no entries of state
        _, at = _varint(content, at)
    start, at = _varint(content, at)
    size, _ = _varint(content, at)
    for handle in _handles(_block(content, start, size)):
        yield from _entries(_block(content, *handle))


def lz4_stream(content: bytes) -> bytes:
    """All blocks of lz4-java's stream, decompressed. Raises ValueError for another form."""
    found, at = list[bytes](), 0
    while at < len(content):
        if content[at : at + 8] != LZ4_BLOCK:
            raise ValueError("it is no stream of LZ4 blocks")
        token, packed, size = struct.unpack_from("<Bii", content, at + 8)
        body = content[at + _LZ4_HEAD : at + _LZ4_HEAD + packed]
        found.append(_unpacked("lz4_raw", body, size) if token & 0xF0 == _IS_LZ4 else body)
        at += _LZ4_HEAD + packed
    return b"".join(found)


def _unpacked(codec: str, body: bytes, size: int) -> bytes:
    return bytes(pa.Codec(codec).decompress(body, size, asbytes=True)) if size else b""


def _block(content: bytes, start: int, size: int) -> bytes:
    body, kind = content[start : start + size], content[start + size]
    if kind == 0:
        return body
    length, at = _varint(body, 0)
    if kind == _DEFLATE:
        return zlib.decompress(body[at:], wbits=-15)
    if kind not in _CODECS:
        raise ValueError(f"its blocks are compressed in a way that is not read here, {kind}")
    return _unpacked(_CODECS[kind], body[0 if kind == _SNAPPY else at :], length)


def _end(block: bytes) -> int:
    """Where the entries end: behind them are the places at which keys are whole."""
    restarts = int.from_bytes(block[-4:], "little")
    return len(block) - 4 - 4 * (restarts & 0x0FFFFFFF)


def _entries(block: bytes) -> Iterator[bytes]:
    at, key, end = 0, b"", _end(block)
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        yield key + b"\0" + block[at + own : at + own + length]
        at += own + length


def _handles(index: bytes) -> Iterator[tuple[int, int]]:
    """Start and size of each block; behind the first of a group only how much the size differs."""
    at, start, size, end = 0, 0, 0, _end(index)
    while at < end:
        shared, at = _varint(index, at)
        own, at = _varint(index, at)
        at += own
        if shared == 0:
            start, at = _varint(index, at)
            size, at = _varint(index, at)
        else:
            more, at = _varint(index, at)
            start, size = start + size + _TRAILER, size + ((more >> 1) ^ -(more & 1))
        yield start, size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """The number, and where it ends."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < _MORE:
            return value, at


class Condition(NamedTuple):
    """A condition over the decoded fields of a topic."""

    sql: str
    prepared: Prepared

    @property
    def topic(self) -> Topic:
        """Whose fields."""
        return self.prepared.topic

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that stand in it."""
        found = names_in(self.sql)
        return tuple(name for name in self.topic.columns if name in found)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """Of these fields."""
        fields = {field.name: field.type for field in self.topic.fields}
        return {name: arrow_type(fields[name]) for name in self.names}

    def check(self) -> None:
        """Raise ValueError unless it is a condition over fields of the topic."""
        if not self.names:
            raise ValueError(f"it names no field; there are {', '.join(self.topic.columns)}")
        rows_where(pa.schema(self.types.items()).empty_table(), self.sql)

    def of_columns(self, rows: pa.Table, carried: Carried) -> Iterator[Told]:
        """Number and values of each row that it holds for. A table with several columns of one
        field is asked by each. Nothing where a field has no column.
        """
        columns = [[n for n in carried[name] if n in rows.column_names] for name in self.names]
        if not all(columns):
            return
        for turn in range(max(map(len, columns))):
            chosen = [own[min(turn, len(own) - 1)] for own in columns]
            asked = {
                name: rows[column].cast(self.types[name])
                for name, column in zip(self.names, chosen, strict=True)
            }
            yield from self._of(pa.table(asked))

    def of_records(self, rows: pa.Table) -> Iterator[Told]:
        """Likewise of records as Kafka had them, and () for a good one that it does not hold for.
        Of a malformed one each field counts by itself.
        """
        wanted = [*self.prepared.topic.columns]
        own = rows.select([name for name in rows.column_names if name in {*RECORD, "headers"}])
        given = Records.of_rows(own.to_pylist())
        taken = taken_apart(given, self.topic, self.prepared.given[0])
        told, at = dict[int, tuple[Any, ...]](), 0
        for decoded in self.prepared.decoder().parts(taken.records):
            count = len(decoded.reasons)
            parents = taken.parents[at : at + count]
            found = dict(zip(wanted, decoded.columns, strict=True))
            bad = [n for n, why in enumerate(decoded.reasons) if why is not None]
            holds = dict[int, tuple[Any, ...]].fromkeys(range(count), ())
            holds |= self._of(pa.table({name: found[name] for name in self.names}))
            for n in bad:
                del holds[n]
            if bad:
                parts = [self._alone(taken.records.at([at + n])) for n in bad]
                holds |= {bad[n]: values for n, values in self._of(pa.concat_tables(parts))}
            for n, values in sorted(holds.items()):
                told[parents[n]] = told.get(parents[n]) or values
            at += count
        yield from sorted(told.items(), key=itemgetter(0))

    def _alone(self, record: Records) -> pa.Table:
        """What can be read of one record."""
        places = [place for place in self.topic.value_places if place.field.name in self.names]
        found = dict[str, pa.Array]()
        if record.values.null_count == 0:
            read = alone.of_value(self.topic, self.prepared.given[0], record, places)
            found = {field.name: column for field, column, why in read if why is None}
        nothing = {name: pa.nulls(1, kind) for name, kind in self.types.items()}
        return pa.table({name: found.get(name, nothing[name]) for name in self.names})

    def _of(self, asked: pa.Table) -> Iterator[Told]:
        """Those for which it holds as it is, or with all texts in one normal form of Unicode."""
        found, sql = {*rows_where(asked, self.sql)}, normalize("NFC", self.sql)
        columns = [
            pc.utf8_normalize(column, "NFC") if pa.types.is_string(column.type) else column
            for column in asked.columns
        ]
        normal = pa.table(columns, asked.column_names)
        if sql != self.sql or not normal.equals(asked):
            found.update(rows_where(normal, sql))
        for number in sorted(found):
            yield number, tuple(asked[name][number].as_py() for name in self.names)
