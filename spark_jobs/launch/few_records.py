"""Few records: what is done otherwise where making a query costs more than computing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from spark_jobs.launch.java_options import FEW_RECORDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OF_FEW_RECORDS: Final = {
    # Spark would write Java for each query, and compile it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Spark would plan the rest of a query again behind each shuffle, and start a job for each.
    "spark.sql.adaptive.enabled": "false",
}
"""Settings for batch queries of few records: how rows are computed, not what comes out."""


@contextmanager
def for_records(spark: SparkSession, records: int) -> Iterator[None]:
    """Within the block, batch queries have so many records: where they are few, with
    OF_FEW_RECORDS, but for what the installation or the spec has set.
    """
    given = spark.sparkContext._conf  # noqa: SLF001 - getConf() copies every entry by a call each
    ours = {
        name: value
        for name, value in OF_FEW_RECORDS.items()
        if records <= FEW_RECORDS and not given.contains(name)
    }
    before = {name: str(spark.conf.get(name)) for name in ours}
    for name, value in ours.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            spark.conf.set(name, was)


def computed_once(rows: DataFrame, records: int) -> DataFrame:
    """The same rows, computed now from so many records, and read as often as the caller likes, who
    then releases them.

    Of few records without what they come from: Spark would go through that plan again for each
    query of them, and write it out. An executor that is lost with some ends such a stage, which is
    short, and is tried again.
    """
    if records <= FEW_RECORDS:
        return rows.localCheckpoint()
    rows = rows.persist()
    rows.count()
    return rows


def release(spark: SparkSession) -> None:
    """Let go of all that is computed once, or cached: no query needs it any more."""
    spark.catalog.clearCache()
    for rows in spark.sparkContext._jsc.getPersistentRDDs().values():  # noqa: SLF001 - no Python form
        rows.unpersist(False)
