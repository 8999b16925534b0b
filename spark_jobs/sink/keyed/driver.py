"""Driver: which batches and tables the driver merges itself, by delta-rs. The rest is Spark's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.storagelevel import StorageLevel

from spark_jobs.table.delta.features import untried

if TYPE_CHECKING:
    import deltalake
    from pyspark.sql import DataFrame

    from spark_jobs.sink.keyed.standing import Size

MOST_CHANGES: Final = 50_000
MOST_ROWS: Final = 2_000_000
MOST_BYTES: Final = 50_000_000
"""Of a batch, of the table's rows, and of the batch or the table's files, that delta-rs merges in
the driver: it takes a gigabyte of memory then (bench/NOTES.md).
"""


def takes_table(table: deltalake.DeltaTable, found: Size | None) -> bool:
    """Whether it is small, and has no feature with which delta-rs was not tried: with some, such as
    deletion vectors, it reads no row, and with others it commits nothing.
    """
    small = found is not None and found.all <= MOST_ROWS and found.bytes <= MOST_BYTES
    return small and not untried(table)


def takes_changes(cached: DataFrame) -> bool:
    """Whether the batch is small, as Spark observes it: records of any size may be in it, and more
    than spark.driver.maxResultSize is never collected.
    """
    return cached.count() <= MOST_CHANGES and _bytes(cached) <= MOST_BYTES


def _bytes(cached: DataFrame) -> int:
    """Of the rows, which are in the cache, before they are compressed there (InMemoryRelation)."""
    found = cached._jdf.queryExecution().withCachedData().stats().sizeInBytes()  # noqa: SLF001 - has no Python form
    return int(str(found))


@contextmanager
def held(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows in Spark's cache within the block: what is read twice is observed twice."""
    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield kept
    finally:
        kept.unpersist()
