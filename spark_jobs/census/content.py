"""Content: how many documents of a file have what is looked for. A file's form is told by its first
and last bytes, not by its name.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from spark_jobs.census.blocks import LZ4_BLOCK, MAGIC, inflated, lz4_stream, sst_entries
from spark_jobs.table.arrow_rows import rows_of_file

if TYPE_CHECKING:
    from spark_jobs.census.words import Words

ROWS: Final = 100_000
"""Of a Parquet file that are in memory at once."""
CountRows = Callable[[pa.Table], int]


class Looker(NamedTuple):
    """What a file is looked through for."""

    words: Words
    rows: CountRows
    """How many rows of a Parquet file have it."""
    anywhere: bool

    def count(self, content: bytes) -> int:
        """Raises whatever the form's reader raises of damage."""
        if content[:4] == b"PAR1":
            return sum(map(self.rows, tables(content)))
        if content[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return sum(self.count(archive.read(each)) for each in archive.infolist())
        if content[-8:] == MAGIC:
            return sum(self.words.stored.search(each) is not None for each in sst_entries(content))
        if content[:8] == LZ4_BLOCK:
            return len(self.words.stored.findall(lz4_stream(content)))
        if (whole := inflated(content)) is not None:
            return self.count(whole)
        return sum(map(self._has, _documents(content)))

    def _has(self, document: object) -> bool:
        if isinstance(document, bytes):
            return self.words.in_bytes(document)
        return self.words.in_tree(document, anywhere=self.anywhere)


def tables(content: bytes) -> Iterator[pa.Table]:
    """The rows of a Parquet file, some at a time. INT96 times keep their years."""
    return rows_of_file(io.BytesIO(content), ROWS)


def _documents(content: bytes) -> Iterator[object]:
    """The JSON that the file is; or of each line what it is, parsed or not."""
    try:
        yield json.loads(content)
    except (ValueError, RecursionError):
        for line in content.split(b"\n"):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield line
