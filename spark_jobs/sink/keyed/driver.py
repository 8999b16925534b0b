"""Driver: which batches and tables the driver merges itself, by delta-rs. The rest is Spark's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.storagelevel import StorageLevel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.table.open_version import Opened

MOST_CHANGES: Final = 50_000
MOST_ROWS: Final = 2_000_000
MOST_BYTES: Final = 50_000_000
"""Of a batch, of the table's rows, and of the batch or the table's files, that delta-rs merges in
the driver: it takes a gigabyte of memory then (bench/NOTES.md).
"""


def takes_table(table: Opened) -> bool:
    """Whether it is small, and has no feature with which delta-rs was not tried: with some, such as
    deletion vectors, it reads no row, and with others it commits nothing.
    """
    found = table.size()
    small = found is not None and found.all <= MOST_ROWS and found.bytes <= MOST_BYTES
    return small and not table.untried()


class Load(NamedTuple):
    """The rows of a batch, and their bytes before they are compressed."""

    rows: int
    bytes: int


def load(cached: DataFrame) -> Load:
    """As Spark's cache has it (InMemoryRelation): what is counted is in it then."""
    rows = cached.count()
    found = cached._jdf.queryExecution().withCachedData().stats().sizeInBytes()  # noqa: SLF001 - has no Python form
    return Load(rows, int(str(found)))


def takes_changes(of: Load) -> bool:
    """Whether the batch is small: records of any size may be in it, and more than
    spark.driver.maxResultSize is never collected.
    """
    return of.rows <= MOST_CHANGES and of.bytes <= MOST_BYTES


@contextmanager
def held(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows in Spark's cache within the block: what is read twice is observed twice."""
    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield kept
    finally:
        kept.unpersist()
