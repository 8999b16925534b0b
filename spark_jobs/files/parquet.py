"""Parquet: files whose rows are made JSON objects, which the format's decoder reads as any others.

Exactly: a decimal has all its digits, a time its microseconds, and what JSON cannot say, such as
NaN, is written so that the decoder refuses it.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, cast

import msgspec
import pyarrow as pa

from spark_jobs.errors import FilesUnfit
from spark_jobs.files.layout import At, Counted
from spark_jobs.table.arrow_rows import parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.parquet as pq

    from spark_jobs.spec import Files

ROWS: Final = 8_192
"""Rows in memory."""
ENCODER: Final = msgspec.json.Encoder(
    decimal_format="number", enc_hook=lambda value: value.to_pydatetime(warn=False)
)
"""Of a time with nanoseconds that is within another value pyarrow makes one of pandas."""
UNSAYABLE: Final = (ValueError, OverflowError, LookupError, TypeError, pa.ArrowException)
"""What pyarrow raises for a value that is none in Python: a text that is no UTF-8, a key twice."""


class ParquetFile:
    """See Layout."""

    def __init__(self, declared: Files) -> None:
        self._path = declared.path

    def refuse_name(self, name: str) -> None:
        """See Layout: what a file is, its first and last bytes say."""

    def grows(self, name: str, *, ended: bool, more: bytes) -> bool:  # noqa: ARG002 - as the port has it
        return False

    def count(self, file: IO[bytes], name: str, start: int, stop: int) -> Counted:  # noqa: ARG002 - as the port has it
        """See Layout. Each page is read once: none fails when its rows are read."""
        with self._damaged(name):
            return Counted(sum(each.num_rows for each in self._opened(file).iter_batches(ROWS)))

    def read(self, file: IO[bytes], name: str, at: At) -> Iterator[bytes]:
        with self._damaged(name):
            opened, skip, groups = self._opened(file), at.skip, list[int]()
            for group in range(opened.metadata.num_row_groups):
                rows = opened.metadata.row_group(group).num_rows
                if not groups and skip >= rows:
                    skip -= rows
                else:
                    groups.append(group)
            for batch in opened.iter_batches(ROWS, row_groups=groups):
                yield from _objects(batch.slice(min(skip, batch.num_rows)))
                skip = max(0, skip - batch.num_rows)

    def place(self, file: IO[bytes], name: str, at: At) -> str:  # noqa: ARG002 - as the port has it
        return f"row {at.skip + 1:,}"

    @contextmanager
    def _damaged(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, pa.ArrowException) as error:
            first = str(error).partition("\n")[0]
            raise FilesUnfit.damaged(name=name, path=self._path, error=first) from None

    def _opened(self, file: IO[bytes]) -> pq.ParquetFile:
        found = parquet(cast("BinaryIO", file))
        names = found.schema_arrow.names
        if twice := [each for each in names if names.count(each) > 1]:
            raise ValueError(f"column {twice[0]!r} is there twice")
        return found


def _objects(batch: pa.RecordBatch) -> Iterator[bytes]:
    names = batch.schema.names
    for row in zip(*map(_values, batch.columns), strict=True):
        found = dict(zip(names, row, strict=True))
        made = b""
        if not any(map(_unsayable, row)):
            with suppress(TypeError, AttributeError):  # of a key that is a boolean
                made = ENCODER.encode(found)
        yield made or json.dumps(found, default=str).encode()


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    try:
        return list(column.to_pylist(maps_as_pydicts="strict"))
    except UNSAYABLE:
        return [_value(each) for each in column]


def _value(given: pa.Scalar[Any]) -> Any:
    """Of a time beyond Python's years the text that Arrow has of it; NaN of what is no value."""
    with suppress(*UNSAYABLE):
        return given.as_py(maps_as_pydicts="strict")
    with suppress(*UNSAYABLE):
        return given.cast(pa.string()).as_py()
    return math.nan


def _unsayable(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case list():
            return any(map(_unsayable, value))
        case dict():
            return any(map(_unsayable, value.values()))
    return False
