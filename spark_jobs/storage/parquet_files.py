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
            try:
                file = pq.ParquetFile(content, coerce_int96_timestamp_unit="us")
            except pa.ArrowInvalid as error:
                raise OSError(str(error)) from error
            yield file
        except OSError as error:
            # Arrow's have no number. The system's have one, and a connection's a class.
            if type(error) is not OSError or error.errno is not None:
                raise
            first = str(error).partition("\n")[0]
            raise TableChanged.file_torn(file=path, error=first) from error
