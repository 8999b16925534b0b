"""The published table, read by Spark, delta-rs and DuckDB: judged rows and no others, over tables that Spark writes."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import duckdb
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Check
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.published import table as published_table
from tests.harness.listener import Listener
from tests.harness.long_form import long_form
from tests.harness.roots import ROOT
from tests.harness.turns import held_by
from tests.unit import repaired
from tests.unit.specs import pipeline

pytestmark = held_by("unit/test_published_table.py", "unit/test_publication.py")

CARRIERS = Check(
    type="expect_column_values_to_be_in_set", kwargs={"column": "carrier", "value_set": ["AA"]}
)


class Tables:
    """A pipeline's table that Spark writes as the sink does, and its published table."""

    def __init__(self, spark: Any, root: Path) -> None:
        self.spark = spark
        self.paths = Paths(str(root), pipeline())
        properties = "delta.enableChangeDataFeed = true, delta.checkpointInterval = 100"
        self.do(f"CREATE TABLE @ (k STRING, n INT) USING DELTA TBLPROPERTIES ({properties})")

    def do(self, sql: str) -> int:
        """The version that it makes. `@` stands for the table."""
        self.spark.sql(sql.replace("@", f"delta.`{self.paths.table}`"))
        return deltalake.DeltaTable(str(self.paths.table)).version()

    def publish(self) -> None:
        version = deltalake.DeltaTable(str(self.paths.table)).version()
        published_table.move(self.paths, version, refuse_dead)

    def shown(self) -> list[tuple[Any, ...]]:
        return by_all(self.spark, self.paths)


def by_spark(spark: Any, path: Any) -> list[tuple[Any, ...]]:
    return _sorted(map(tuple, spark.read.format("delta").load(str(path)).collect()))


def _sorted(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Times without their zone: Spark's have none in Python, and all are UTC."""
    return sorted(
        tuple(value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in row)
        for row in rows
    )


def by_sql(path: Any) -> list[tuple[Any, ...]]:
    """By delta-rs's own SQL."""
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    read = pa.table(builder.execute("SELECT * FROM t").read_all())
    return _sorted(tuple(row.values()) for row in read.to_pylist())


def by_arrow(path: Any) -> list[tuple[Any, ...]]:
    read = deltalake.DeltaTable(str(path)).to_pyarrow_table()
    return _sorted(tuple(row.values()) for row in read.to_pylist())


def by_duckdb(path: Any) -> list[tuple[Any, ...]]:
    rows = deltalake.DeltaTable(str(path)).to_pyarrow_dataset()  # noqa: F841 - found by its name
    return _sorted(duckdb.sql("SELECT * FROM rows").fetchall())


def by_all(spark: Any, paths: Paths) -> list[tuple[Any, ...]]:
    """What all readers agree on."""
    path = paths.published_table
    read = by_spark(spark, path)
    assert by_sql(path) == by_arrow(path) == by_duckdb(path) == read
    return read


@pytest.fixture
def tables(spark, tmp_path) -> Tables:
    return Tables(spark, tmp_path / ROOT)


def test_deletion_vectors_and_a_renamed_column_are_shown_to_those_who_can_read_them(tables):
    tables.do("INSERT INTO @ VALUES ('a', 1), ('b', 2), ('c', 3)")
    tables.publish()
    tables.do(
        "ALTER TABLE @ SET TBLPROPERTIES (delta.enableDeletionVectors = true, "
        "delta.columnMapping.mode = 'name', delta.minReaderVersion = 3, "
        "delta.minWriterVersion = 7)"
    )
    tables.do("ALTER TABLE @ RENAME COLUMN n TO number")
    tables.do("DELETE FROM @ WHERE number = 2")
    tables.publish()
    path = tables.paths.published_table
    assert by_spark(tables.spark, path) == by_sql(path) == [("a", 1), ("c", 3)]
    assert tables.spark.read.format("delta").load(str(path)).columns == ["k", "number"]
    vectors = [
        action["add"]["deletionVector"]
        for action in Log.of(path).commit(Log.of(path).newest)
        if "add" in action
    ]
    assert len(vectors) == 1, "the row was deleted by a vector, which the table names"


@long_form
def test_optimize_and_vacuum_of_either_table_take_no_row_from_consumers(tables):
    for n in range(3):
        tables.do(f"INSERT INTO @ VALUES ('a', {n})")
    tables.publish()
    judged = deltalake.DeltaTable(str(tables.paths.table)).version()
    tables.spark.sql(f"OPTIMIZE delta.`{tables.paths.table}`")
    tables.do("INSERT INTO @ VALUES ('not judged', 9)")
    assert published_table.move(tables.paths, judged, refuse_dead)
    settings = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",  # 10,000 tasks else
    }
    for name, value in settings.items():
        tables.spark.conf.set(name, value)
    try:
        for path in (tables.paths.table, tables.paths.published_table):
            tables.spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    finally:
        for name in settings:
            tables.spark.conf.unset(name)
    assert tables.shown() == [("a", 0), ("a", 1), ("a", 2)]
    assert len(by_spark(tables.spark, tables.paths.table)) == 4


class Streamed(NamedTuple):
    """A person's stream over the published table, which is run behind each publish."""

    spark: Any
    published: Any
    folder: Path

    def read(self, **options: str) -> list[tuple[int, str, int]]:
        """All that it has ever read: hour, shop and sales."""
        reader = self.spark.readStream.format("delta").options(**options)
        writer = reader.load(str(self.published)).writeStream.format("delta")
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        writer.trigger(availableNow=True).start(str(self.folder / "copy")).awaitTermination()
        copied = self.spark.read.format("delta").load(str(self.folder / "copy"))
        return sorted(
            (row.hour, row.shop, row.sales)
            for row in copied.selectExpr("hour(windowEnd) hour", "shop", "sales").collect()
        )


def test_a_stream_reads_the_rows_of_each_drain_once_beside_repairs_and_optimize(spark, tmp_path):
    """Drain, repair, drain and OPTIMIZE in one publish, then repairs and a drain in one each. The
    first repair replaces rows of the drain before it, too; an undo only adds rows.
    """
    made, listener = repaired.Root(tmp_path / ROOT), Listener()

    def publish() -> None:
        assert listener.publish(made.paths, repaired.SPEC) is not None

    def repair(name: str, *hours: int) -> None:
        rows = [repaired.row(each, "a") for each in hours]
        made.stage(name, [(row, row | {"sales": 2}) for row in rows])
        made.swap(name)

    def of_hours(first: int, last: int) -> list[tuple[int, str, int]]:
        ends = (repaired.hour(each).hour for each in range(first, last + 1))
        return [(end, shop, 1) for end in ends for shop in repaired.SHOPS]

    made.drain(0, 5)
    publish()
    skipping = Streamed(spark, made.paths.published_table, tmp_path / "skipping")
    plain = skipping._replace(folder=tmp_path / "plain")
    skip = {"skipChangeCommits": "true"}
    assert skipping.read(**skip) == plain.read() == of_hours(0, 5)
    made.drain(6, 6)
    repair("r1", 1, 6)
    made.drain(7, 7)
    made.table.optimize.compact()
    made.drain(8, 8)
    publish()
    assert skipping.read(**skip) == of_hours(0, 8)
    assert made.rows_of(made.paths.published_table) == made.rows()
    with pytest.raises(StreamingQueryException, match="DELTA_SOURCE_TABLE_IGNORE_CHANGES"):
        plain.read()
    assert plain.read(**skip) == of_hours(0, 8), "it goes on from its checkpoint"
    repair("r2", 2)
    made.stage("r3", [(repaired.row(8, shop), None) for shop in repaired.SHOPS])
    made.swap("r3")
    made.undo("r3")
    publish()
    made.drain(9, 9)
    publish()
    assert skipping.read(**skip) == of_hours(0, 9)


def test_rows_of_a_failed_check_are_shown_once_they_are_mended_and_no_earlier(spark, drained):
    waiting = plan(drained.spec, drained.settings).to_publish
    listener = Listener()
    told = listener.publish(drained.paths, drained.spec)
    assert told.table_version == waiting
    assert plan(drained.spec, drained.settings).to_publish is None
    before = by_all(spark, drained.paths)
    assert len(before) == len(drained.table())
    drained.change(output_checks=(CARRIERS,))
    failed = drained.drain("failed")
    assert failed.problem.code == "CHECK_FAILED"
    assert plan(drained.spec, drained.settings).to_publish is None
    assert listener.publish(drained.paths, drained.spec) is None
    assert by_all(spark, drained.paths) == before
    assert len(drained.table()) > len(before)
    deltalake.DeltaTable(str(drained.paths.table)).delete("carrier <> 'AA'")
    assert by_all(spark, drained.paths) == before
    again = drained.run("mended")
    assert [check.outcome for check in again.checks if check.suite == "output"] == ["passed"]
    assert plan(drained.spec, drained.settings).to_publish is not None
    assert listener.publish(drained.paths, drained.spec) is not None
    mended = by_all(spark, drained.paths)
    assert len(mended) == len(drained.table())
