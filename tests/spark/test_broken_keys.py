"""A key that a person has broken is named where Spark makes the rows, as where the driver does."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.errors import TableChanged
from spark_jobs.sink.keyed.driver import Load
from spark_jobs.sink.keyed.in_spark import merge_in_spark
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import DELETED
from tests.harness.refused import fails
from tests.unit import test_fold as partial, test_versions as history

OWNER = "orders/1"


def twice(path, parts):
    there = DeltaTable(str(path)).to_pyarrow_table()
    write_deltalake(str(path), there, mode="append", partition_by=parts)


@pytest.mark.parametrize("unplaced", [True, False], ids=["without a place", "at one place"])
def test_a_version_that_somebody_broke_is_named_by_spark_too(spark, tmp_path, unplaced):
    path = history.delta_table(tmp_path / "orders")
    history.put(path, history.rows([(0, history.FIRST)]), 0)
    other = history.Change("b", 0, 1, 1, "paid")
    history.put(path, history.rows([(2, other)]), 1)
    if unplaced:
        DeltaTable(str(path)).update({"lsn": "NULL"}, predicate="id = 'a'")
    else:
        twice(path, [DELETED, "current"])
    changes = pa.Table.from_pylist(history.rows([(1, history.SECOND)]), history.CHANGES)
    commit = Commit(str(path), OWNER, 2, {}, path, 1)
    with fails(TableChanged, "key_broken", key="id = a, shop = 0"):
        merge_in_spark(spark.createDataFrame(changes), Load(1, 0), history.STEP, commit)


def test_a_row_of_partial_changes_that_somebody_wrote_twice_is_named_by_spark_too(spark, tmp_path):
    path = partial.table_at(tmp_path / "orders")
    said = [partial.Change(key, 1, {"status": "paid"}, at) for at, key in enumerate("ab")]
    partial.merge(path, said, 0)
    twice(path, [DELETED])
    row = partial.Change("b", 2, {"note": "late"}, 7).row()
    changes = spark.createDataFrame(pa.Table.from_pylist([row], partial.COLUMNS))
    with fails(TableChanged, "key_broken", key="id = b"):
        merge_in_spark(changes, Load(1, 0), partial.STEP, Commit(str(path), OWNER, 1, {}, path))
