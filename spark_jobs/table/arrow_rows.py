"""Arrow rows: the rows of Parquet files, and few rows that the driver hands to Spark, whatever the
table's format is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from spark_jobs.errors import TableChanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from upath import UPath

MOST_BYTES: Final = 4_000_000
"""Of the rows, in memory: more are Spark's work. They go to Spark within each task."""
ROWS_AT_ONCE: Final = 4096
"""Rows of a file that are read before their bytes are looked at: it has what repeats only once."""
VALUE_BYTES: Final = 8
"""What Spark has for each value at least; Arrow has a bit for a boolean."""


def parquet(content: BinaryIO) -> pq.ParquetFile:
    """A file of Parquet: INT96 times are of microseconds and keep their years. Raises what Arrow
    does.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - a plan reads no table

    return pq.ParquetFile(content, coerce_int96_timestamp_unit="us")


@contextmanager
def parquet_file(path: UPath) -> Iterator[pq.ParquetFile]:
    """The file, open: INT96 times, which plain Spark writes, are of microseconds and keep their
    years. Raises FileNotFoundError; TableChanged for a file that is torn or none of Parquet's, also
    while its rows are read.
    """
    import pyarrow as pa  # noqa: PLC0415 - a plan reads no table

    with path.open("rb") as content:
        try:
            yield parquet(content)
        except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
            # The system's errors have a number, and a connection's a class. Arrow's have neither.
            if isinstance(error, OSError) and (type(error) is not OSError or error.errno):
                raise
            first = str(error).partition("\n")[0].rstrip(". ")
            raise TableChanged.file_torn(file=path, error=first) from error


def rows_of_file(content: BinaryIO, at_once: int) -> Iterator[pa.Table]:
    """The rows of a file of Parquet, so many at once. Times of plain Spark keep their years."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    for batch in parquet(content).iter_batches(at_once):
        yield pa.Table.from_batches([batch])


def few(batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch] | None:
    """The batches; None if they are larger than MOST_BYTES. Then no more is read."""
    found: list[pa.RecordBatch] = []
    total = 0
    for batch in batches:
        total += max(batch.nbytes, VALUE_BYTES * batch.num_rows * batch.num_columns)
        if total > MOST_BYTES:
            return None
        found.append(batch)
    return found


def arrow_schema(schema: StructType) -> pa.Schema:
    """As Spark takes it from Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - a process that only plans has no Spark

    return to_arrow_schema(schema, timezone="UTC")


def to_spark(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """The rows for Spark, in one partition. Raises ArrowInvalid or KeyError if they have not the
    columns.
    """
    import pyarrow as pa  # noqa: PLC0415 - as above

    wanted = arrow_schema(schema)
    # PySpark takes no table without a part.
    parts = [wanted.empty_table(), rows.select(wanted.names).cast(wanted)]
    return spark.createDataFrame(pa.concat_tables(parts).combine_chunks(), schema).coalesce(1)
