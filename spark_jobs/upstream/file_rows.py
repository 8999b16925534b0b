"""Rows: those of a data file, each as the JSON object that a topic's record would be. In Spark's
Python workers, and in the driver.

A number that JSON has not, such as NaN, and a time that Python has not, make their row malformed:
it is kept aside, and no other value stands for it.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.storage.root.store import opened
from spark_jobs.table.arrow_rows import parquet_file
from spark_jobs.values.conversions import arrow_type

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.table.data_files import DataFile
    from spark_jobs.upstream.noted import Numbered

AT_ONCE: Final = 8192
"""Rows that are read at a time."""
NO_JSON: Final = b"\xff"
"""The value of a row that JSON has not."""
NONE_IN_JSON: Final = (ValueError, OverflowError, KeyError, TypeError)
"""What a row raises that JSON has not: a time, or a map's key that is there twice or a struct."""
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def file_at(folder: UPath | str, path: str) -> UPath:
    """The file that an entry of the log names, from the table's folder.

    >>> str(file_at("/lake/published/days", "../../tables/days/part%201.parquet"))
    '/lake/tables/days/part 1.parquet'
    """
    name = unquote(path)
    if "://" in name or name.startswith(("/", "file:")):
        return opened(name.removeprefix("file:"))
    scheme, _, rest = str(folder).rpartition("://")
    whole = posixpath.normpath(f"{rest}/{name}") if ".." in name else f"{rest}/{name}"
    return opened(f"{scheme}://{whole}" if scheme else whole)


def rows_of(
    folder: str, file: Numbered | DataFile, columns: Mapping[str, str], first: int = 0,
    stop: int | None = None,
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """The rows of the file from one place up to another, with these columns in their types; null in
    one that the file has not.
    """
    at = 0
    with parquet_file(file_at(folder, file.path)) as content:
        there = [name for name in columns if name in content.schema_arrow.names]
        for part in content.iter_batches(AT_ONCE, columns=there):
            begin, end = max(first - at, 0), part.num_rows if stop is None else stop - at
            at += part.num_rows
            if begin < min(end, part.num_rows):
                yield _typed(part.slice(begin, end - begin), file.parts, columns)
            if stop is not None and at >= stop:
                return


def _typed(
    part: pa.RecordBatch, values: Mapping[str, str | None], columns: Mapping[str, str]
) -> pa.RecordBatch:
    found = []
    for name, kind in columns.items():
        wanted = arrow_type(kind)
        if name in part.schema.names:
            found.append(part.column(name).cast(wanted))
        else:
            found.append(_constant(values.get(name), wanted, part.num_rows))
    return pa.RecordBatch.from_arrays(found, names=[*columns])


def _constant(text: str | None, wanted: pa.DataType, rows: int) -> pa.Array:
    """Of a partition, whose value is in the log alone; times are UTC there."""
    if not text:
        return pa.nulls(rows, wanted)
    given: object = text
    if pa.types.is_timestamp(wanted):
        given = pa.scalar(text.removesuffix("Z")).cast(pa.timestamp("us")).value
        return pa.array([given] * rows, pa.int64()).cast(wanted)
    return pa.array([given] * rows, pa.string()).cast(wanted)


def as_json(rows: pa.RecordBatch, columns: Mapping[str, str]) -> list[bytes]:
    """Each row's object."""
    encode = _ENCODER.encode if _finite(rows, columns) else _lenient
    try:
        return [encode(row) for row in rows.to_pylist(maps_as_pydicts="strict")]
    except NONE_IN_JSON:  # of one of them
        return [_one(rows.slice(at, 1), encode) for at in range(rows.num_rows)]


def _one(row: pa.RecordBatch, encode: Callable[[Any], bytes]) -> bytes:
    try:
        [found] = row.to_pylist(maps_as_pydicts="strict")
        return encode(found)
    except NONE_IN_JSON:
        return NO_JSON


def _finite(rows: pa.RecordBatch, columns: Mapping[str, str]) -> bool:
    """Whether no number of the rows can be infinite or none."""
    floating = [name for name, kind in columns.items() if "double" in kind or "float" in kind]
    return all(
        pa.types.is_floating(rows.column(name).type)
        and pc.all(pc.is_finite(rows.column(name))).as_py() is not False
        for name in floating
    )


def _lenient(row: Any) -> bytes:
    """msgspec writes null for NaN. This writes no JSON then."""
    return b"".join(_written(row))


def _written(value: Any) -> Iterable[bytes]:
    if isinstance(value, dict):
        yield b"{"
        for number, (name, each) in enumerate(value.items()):
            key = _ENCODER.encode({name: 0}).removeprefix(b"{").removesuffix(b"0}")  # also a number
            yield (b"," if number else b"") + key
            yield from _written(each)
        yield b"}"
    elif isinstance(value, list | tuple):
        yield b"["
        for number, each in enumerate(value):
            yield b"," if number else b""
            yield from _written(each)
        yield b"]"
    elif isinstance(value, float):
        yield json.dumps(value).encode()
    else:
        yield _ENCODER.encode(value)
