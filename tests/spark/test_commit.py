"""A batch's commit by who may have outslept the lease."""

import pytest
from pyspark.sql.types import LongType, StringType, StructType
from upath import UPath

from spark_jobs.registry import find as registry
from spark_jobs.sink import commit, table

COLUMNS = StructType().add("k", StringType()).add("n", LongType())


def append(spark, path, confirm):
    rows = spark.createDataFrame([("a", 1)], COLUMNS)
    commit.append(rows, commit.Commit(str(path), "owner", 0, {}, confirm))


def test_a_batch_is_not_appended_behind_the_same_one_of_the_next_holder(spark, tmp_path):
    """Who had the lease when the transaction began, and sleeps then."""
    path = UPath(tmp_path / "table")
    table.ensure(path, COLUMNS, registry.load("flight_events"), "a generation")

    def overtaken():
        append(spark, path, lambda: None)

    with pytest.raises(Exception, match="ConcurrentTransactionException"):
        append(spark, path, overtaken)
    assert spark.read.format("delta").load(str(path)).count() == 1
