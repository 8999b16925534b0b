"""A new table's first version has a checksum, from which Delta's Spark goes on."""

import json

import pytest
from pyspark.sql.types import LongType, StringType, StructType
from upath import UPath

from spark_jobs.registry import find as registry
from spark_jobs.table.delta import commit
from spark_jobs.table.delta.table import Delta

COLUMNS = StructType().add("k", StringType()).add("n", LongType())
VERIFY = "spark.databricks.delta.incremental.commit.verify"


@pytest.fixture
def path(tmp_path):
    path = UPath(tmp_path / "table")
    assert Delta(path).ensure(COLUMNS, registry.load("flight_events"), "a generation") == 0
    return path


def append(spark, path, batch_id):
    rows = spark.createDataFrame([("a", 1)], COLUMNS)
    commit.append(rows, commit.Commit(str(path), "owner", batch_id, {}))


def log_of(spark, path):
    delta = spark._jvm.org.apache.spark.sql.delta  # noqa: SLF001 - Delta's log has no Python form
    return delta.DeltaLog.forTable(spark._jsparkSession, str(path))  # noqa: SLF001


def test_the_first_commits_do_not_read_the_tables_state(spark, path):
    for batch_id in range(2):
        before = log_of(spark, path).unsafeVolatileSnapshot()
        assert before.version() == batch_id
        append(spark, path, batch_id)
        assert not before._computedStateTriggered()  # noqa: SLF001 - as Scala compiles it


def test_delta_finds_what_it_would_have_written_itself(spark, path):
    """With this setting it computes each checksum anew, and fails where one differs."""
    spark.conf.set(VERIFY, "true")
    try:
        append(spark, path, 0)
        append(spark, path, 1)
    finally:
        spark.conf.unset(VERIFY)
    checksum = json.loads((path / "_delta_log" / f"{2:020}.crc").read_text())
    assert (checksum["numFiles"], len(checksum["allFiles"])) == (2, 2)
    assert [(mark["appId"], mark["version"]) for mark in checksum["setTransactions"]] == [
        ("owner", 1)
    ]


def test_a_torn_one_counts_as_missing(spark, path):
    torn = path / "_delta_log" / f"{0:020}.crc"
    torn.write_text(torn.read_text()[:200])
    append(spark, path, 0)
    assert spark.read.format("delta").load(str(path)).count() == 1
