"""Deletes of a table that delta-rs does not write are forgotten by its drains."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.runs.upkeep import forget_deletes
from spark_jobs.sink.keyed.forgetting import forget
from spark_jobs.table import history
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.own_columns import DELETED, DELETED_AT
from tests.harness.turns import alike
from tests.unit.test_latest import COLUMNS, STEP, table_at

pytestmark = alike("upkeep beside drains")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGES = {"a": None, "b": 1, "c": 30, "d": 32}
"""Key -> days since its delete, if it is deleted. The table remembers 30."""


@pytest.fixture
def orders(tmp_path):
    path = table_at(tmp_path / "orders")
    rows = [
        {"id": key, "lsn": 1, "seq": "x", DELETED: age is not None}
        | ({} if age is None else {DELETED_AT: NOW - timedelta(days=age)})
        for key, age in AGES.items()
    ]
    write_deltalake(str(path), pa.Table.from_pylist(rows, COLUMNS), mode="append", partition_by=[DELETED])  # fmt: skip
    return path


def keys(spark, path):
    return sorted(row.id for row in spark.read.format("delta").load(str(path)).collect())


def test_deletes_are_forgotten_where_there_are_deletion_vectors_and_no_row_has_changed(
    spark, orders
):
    assert not forget(spark, orders, STEP.forgets_after, NOW), "maintain does it"
    spark.sql(f"ALTER TABLE delta.`{orders}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")  # fmt: skip
    before = Log.of(orders).newest
    assert forget(spark, orders, STEP.forgets_after, NOW)
    assert keys(spark, orders) == ["a", "b", "c"], "c goes behind its whole day"
    assert not history.rows_changed(Delta(orders), before, Log.of(orders).newest)
    assert Delta(orders).open(Log.of(orders).newest).size()[:2] == (1, 2)
    assert not forget(spark, orders, STEP.forgets_after, NOW)
    assert Log.of(orders).newest == before + 1


def test_a_drain_forgets_them_under_its_lease_alone_and_a_failure_does_not_fail_it(spark, orders):
    spark.sql(f"ALTER TABLE delta.`{orders}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")  # fmt: skip
    held = SimpleNamespace(confirm=lambda: 1 / 0)
    run = SimpleNamespace(
        spark=spark, lease=held, target=SimpleNamespace(table=Delta(orders)),
        spec=SimpleNamespace(name="orders", keyed=STEP),
    )  # fmt: skip
    forget_deletes(run)
    assert keys(spark, orders) == ["a", "b", "c", "d"]
    held.confirm = lambda: None
    forget_deletes(run)
    assert keys(spark, orders) == ["a"], "the others were deleted months ago"
