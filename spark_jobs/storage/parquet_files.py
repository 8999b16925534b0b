"""Parquet files: the one door to their rows by pyarrow."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_jobs.errors import TableChanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.parquet as pq
    from upath import UPath


@contextmanager
def parquet_file(path: UPath) -> Iterator[pq.ParquetFile]:
    """The file, open: INT96 times, which plain Spark writes, are of microseconds and keep their
    years. Raises FileNotFoundError; TableChanged for a file that is torn or none of Parquet's, also
    while its rows are read.
    """
    import pyarrow as pa  # noqa: PLC0415 - a plan reads no table
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    with path.open("rb") as content:
        try:
            yield pq.ParquetFile(content, coerce_int96_timestamp_unit="us")
        except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
            # The system's errors have a number, and a connection's a class. Arrow's have neither.
            if isinstance(error, OSError) and (type(error) is not OSError or error.errno):
                raise
            first = str(error).partition("\n")[0]
            raise TableChanged.file_torn(file=path, error=first) from error
