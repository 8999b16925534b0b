"""A batch's commit by who may have outslept the lease."""

import pytest
from pyspark.sql.types import LongType, StringType, StructType
from upath import UPath

from spark_jobs import failpoint
from spark_jobs.registry import find as registry
from spark_jobs.sink import commit, table

COLUMNS = StructType().add("k", StringType()).add("n", LongType())


def append(spark, path):
    rows = spark.createDataFrame([("a", 1)], COLUMNS)
    commit.append(rows, commit.Commit(str(path), "owner", 0, {}))


def test_a_batch_is_not_appended_behind_the_same_one_of_the_next_holder(
    spark, tmp_path, monkeypatch
):
    """Who sleeps when the transaction has begun, on a disk that another machine locks meanwhile."""
    path = UPath(tmp_path / "table")
    table.ensure(path, COLUMNS, registry.load("flight_events"), "a generation")

    def overtaken(_):
        monkeypatch.undo()
        append(spark, path)

    monkeypatch.setattr(failpoint, "at", overtaken)
    with pytest.raises(Exception, match="ConcurrentTransactionException"):
        append(spark, path)
    assert spark.read.format("delta").load(str(path)).count() == 1
