"""A batch's commit by who may have outslept the lease."""

import pytest
from pyspark.sql.types import LongType, StringType, StructType
from upath import UPath

from spark_jobs.errors import LeaseLost
from spark_jobs.registry import find as registry
from spark_jobs.table.delta import commit
from spark_jobs.table.delta.table import Delta

COLUMNS = StructType().add("k", StringType()).add("n", LongType())


def append(rows, path):
    commit.append(rows, commit.Commit(str(path), "owner", 0, {}))


class Overtaken:
    """Rows that are asked for when the transaction has begun: another appends them before."""

    def __init__(self, rows, path):
        self.sparkSession = rows.sparkSession
        self._rows, self._path = rows, path

    @property
    def _jdf(self):
        append(self._rows, self._path)
        return self._rows._jdf  # noqa: SLF001 - as the product asks


def test_a_batch_is_not_appended_behind_the_same_one_of_the_next_holder(spark, tmp_path):
    """Who sleeps when the transaction has begun, on a disk that another machine locks meanwhile."""
    path = UPath(tmp_path / "table")
    Delta(path).ensure(COLUMNS, registry.load("flight_events"), "a generation")
    rows = spark.createDataFrame([("a", 1)], COLUMNS)
    with pytest.raises(Exception, match="ConcurrentTransactionException"):
        append(Overtaken(rows, path), path)
    assert spark.read.format("delta").load(str(path)).count() == 1


def test_a_batch_is_not_appended_by_who_lost_the_lease_before_the_transaction(spark, tmp_path):
    """On NFS, where no log store asks: a rewind may have come between the last look and it."""
    path = UPath(tmp_path / "table")
    Delta(path).ensure(COLUMNS, registry.load("flight_events"), "a generation")
    rows = spark.createDataFrame([("a", 1)], COLUMNS)

    def confirm():
        raise LeaseLost("another has it")

    with pytest.raises(LeaseLost):
        commit.append(rows, commit.Commit(str(path), "owner", 0, {}, confirm=confirm))
    assert spark.read.format("delta").load(str(path)).count() == 0
