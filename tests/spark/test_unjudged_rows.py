"""The rows that output checks judge, over small real tables: what a person mended is judged as it is now."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pytest
from upath import UPath

from spark_jobs.table import arrow_rows
from spark_jobs.table.delta import written_rows as added, written_rows as rows_of
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.delta.written_rows import changed_rows
from spark_jobs.values.own_columns import DELETED
from tests.harness.cleaned import clean_log
from tests.harness.lines import heard
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_added_rows.py", "unit/test_audited_batch.py")


class Table:
    """A table with a change feed: version 0 has no row, and each write is a version."""

    def __init__(self, spark: Any, path: Path, mode: str) -> None:
        self.spark = spark
        self.path = path
        self.run: Any = SimpleNamespace(
            spark=spark,
            spec=SimpleNamespace(name="p", output_mode=mode, keyed=None),
            target=SimpleNamespace(table=Delta(UPath(path))),
        )
        spark.sql(
            f"CREATE TABLE delta.`{path}` (k STRING, n INT) USING DELTA "
            "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
        )

    def do(self, sql: str) -> int:
        """The version that it makes."""
        self.spark.sql(sql.replace("TABLE", f"delta.`{self.path}`"))
        return deltalake.DeltaTable(str(self.path)).version()

    def written(self, since: int, version: int) -> Any:
        return self.run.target.table.written(self.spark, self.run.spec, since, version)

    def unjudged(self, since: int, version: int) -> list[tuple[str, int]]:
        rows = self.written(since, version)
        try:
            return sorted((row.k, row.n) for row in rows.collect())
        finally:
            rows.unpersist()


@pytest.fixture
def table(spark, tmp_path) -> Table:
    return Table(spark, tmp_path / "t", "append")


def test_they_are_what_was_written_since_and_nothing_older(table):
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0)")
    table.do("INSERT INTO TABLE VALUES ('a', 1), ('a', 1)")
    last = table.do("INSERT INTO TABLE VALUES ('b', 2)")
    assert table.unjudged(passed, last) == [("a", 1), ("a", 1), ("b", 2)]


def test_a_row_that_was_deleted_updated_or_merged_away_is_judged_as_it_is_now(table):
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0)")
    table.do("INSERT INTO TABLE VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)")
    table.do("DELETE FROM TABLE WHERE k = 'a'")
    table.do("UPDATE TABLE SET n = 20 WHERE k = 'b'")
    last = table.do(
        "MERGE INTO TABLE t USING (SELECT 'c' AS k, 30 AS n) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET n = s.n"
    )
    assert table.unjudged(passed, last) == [("b", 20), ("c", 30), ("d", 4)]


def test_one_of_two_equal_rows_that_is_deleted_leaves_the_other(table):
    passed = table.do("INSERT INTO TABLE VALUES ('a', 1)")
    last = table.do("INSERT INTO TABLE VALUES ('a', 1)")
    assert table.unjudged(passed, last) == [("a", 1)]


EVERY_TYPE = {
    "s": ("STRING", "'ä\\n'", "''"),
    "y": ("TINYINT", "-128Y", "127Y"),
    "h": ("SMALLINT", "-32768S", "1S"),
    "i": ("INT", "2147483647", "0"),
    "l": ("BIGINT", "-9223372036854775808L", "9007199254740993L"),
    "f": ("FLOAT", "float('NaN')", "float('1.1')"),
    "d": ("DOUBLE", "double('-4.9E-324')", "double('Infinity')"),
    "n": ("DECIMAL(38, 18)", "12345678901234567890.123456789012345678", "-0.000000000000000001"),
    "b": ("BOOLEAN", "true", "false"),
    "z": ("BINARY", "X'00FF'", "X''"),
    "day": ("DATE", "DATE'0001-01-01'", "DATE'9999-12-31'"),
    "t": ("TIMESTAMP", "TIMESTAMP'0001-01-02 03:04:05.000006'", "TIMESTAMP'9999-12-30 23:59:59.999999'"),
    "u": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'1582-10-04 00:00:00'", "TIMESTAMP_NTZ'2013-03-31 02:30:00'"),
    "a": ("ARRAY<TIMESTAMP>", "array(TIMESTAMP'1969-12-31 23:59:59.5', NULL)", "array()"),
    "r": ("ARRAY<STRUCT<x: INT, y: ARRAY<DATE>>>", "array(struct(1, array(DATE'2013-01-01')))", "array(NULL)"),
}  # fmt: skip
"""Type and two values of each column; there is a row of nulls beside."""


def test_small_appends_are_read_without_spark_as_spark_reads_them(spark, tmp_path, monkeypatch):
    table = Table(spark, tmp_path / "t", "append")
    columns = ", ".join(f"{name} {of[0]}" for name, of in EVERY_TYPE.items())
    table.do(
        f"REPLACE table TABLE ({columns}) USING DELTA TBLPROPERTIES ("
        "delta.enableChangeDataFeed = true, delta.feature.timestampNtz = 'supported')"
    )
    passed = table.do(
        f"INSERT INTO TABLE ({', '.join(EVERY_TYPE)}) VALUES ({', '.join('NULL' for _ in EVERY_TYPE)})"
    )
    for value in (1, 2):
        values = ", ".join(f"CAST({of[value]} AS {of[0]})" for of in EVERY_TYPE.values())
        nulls = ", ".join("NULL" for _ in EVERY_TYPE)
        last = table.do(f"INSERT INTO TABLE VALUES ({values}), ({nulls})")
    by_spark = rows_of._changed(table.spark, table.run.target.table, table.run.spec, passed, last)  # noqa: SLF001 - the other way
    monkeypatch.setattr(rows_of, "_changed", None)
    rows = table.written(passed, last)
    assert rows.schema == by_spark.schema

    def values_of(frame: Any, name: str) -> list[str]:
        text = f"coalesce(to_json(struct({name})), '') || ' ' || hash({name})"
        return sorted(row[0] for row in frame.selectExpr(text).collect())

    for name in EVERY_TYPE:
        assert len(values_of(rows, name)) == 4
        assert values_of(rows, name) == values_of(by_spark, name)
    by_spark.unpersist()


@pytest.mark.parametrize(
    "why",
    [
        "joined", "noted again", "deleted rows in place", "partitions", "mapped", "a new column",
        "many",
    ],
)  # fmt: skip
def test_where_the_files_alone_do_not_tell_them_spark_reads_the_changes(table, monkeypatch, why):
    before = {
        "deleted rows in place": "ALTER table TABLE SET TBLPROPERTIES (delta.enableDeletionVectors = true)",
        "mapped": "ALTER table TABLE SET TBLPROPERTIES (delta.columnMapping.mode = 'name')",
        "partitions": "REPLACE table TABLE (k STRING, n INT) USING DELTA PARTITIONED BY (k) "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)",
    }
    if why in before:
        table.do(before[why])
    if why == "many":
        monkeypatch.setattr(arrow_rows, "MOST_BYTES", 10)
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0)")
    table.do("INSERT INTO TABLE SELECT /*+ COALESCE(1) */ * FROM VALUES ('a', 1), ('b', 2)")
    last = table.do("INSERT INTO TABLE VALUES ('c', 3)")
    if why == "joined":
        last = table.do("OPTIMIZE TABLE")
    if why == "noted again":  # as Delta's StatisticsCollection.recompute commits it
        log = Log.of(table.path)
        files = [action["add"] for action in log.commit(passed) if "add" in action]
        last += 1
        assert files
        assert log.put(
            last,
            [
                {"commitInfo": {"timestamp": 1_800_000_000_000, "operation": "COMPUTE STATS"}},
                *({"add": {**file, "dataChange": False}} for file in files),
            ],
        )
    if why == "deleted rows in place":
        last = table.do("DELETE FROM TABLE WHERE k = 'b'")
    if why == "a new column":
        last = table.do("ALTER table TABLE ADD COLUMN more INT")
    assert added.added_rows(table.spark, UPath(table.path), passed, last) is None
    wanted = [("a", 1), ("b", 2), ("c", 3)]
    if why == "deleted rows in place":
        wanted.remove(("b", 2))
    assert table.unjudged(passed, last) == wanted


def test_in_update_mode_a_key_is_judged_by_its_last_row(spark, tmp_path):
    table = Table(spark, tmp_path / "t", "update")
    passed = table.do("INSERT INTO TABLE VALUES ('a', 1), ('untouched', 9)")
    for n in (2, 3):
        last = table.do(
            f"MERGE INTO TABLE t USING (SELECT 'a' AS k, {n} AS n) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET n = s.n"
        )
    assert table.unjudged(passed, last) == [("a", 3)]


@pytest.mark.parametrize("most", [arrow_rows.MOST_BYTES, 0], ids=["driver", "spark"])
def test_behind_edits_of_keys_it_is_what_the_table_has_of_them(spark, tmp_path, monkeypatch, most):
    monkeypatch.setattr(arrow_rows, "MOST_BYTES", most)
    table = Table(spark, tmp_path / "t", "update")
    table.do(
        f"REPLACE table TABLE (k STRING, n INT, {DELETED} BOOLEAN) USING DELTA "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    table.run.spec.keyed = SimpleNamespace(row_key=("k",))
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0, false), ('untouched', 9, false)")
    table.do("INSERT INTO TABLE VALUES ('bad', 1, false), ('gone', 2, false), ('dead', 3, true)")
    table.do("UPDATE TABLE SET k = 'good' WHERE k = 'bad'")
    table.do("DELETE FROM TABLE WHERE k = 'gone'")
    table.do("UPDATE TABLE SET k = 'older' WHERE k = 'old'")
    last = table.do("UPDATE TABLE SET n = 5 WHERE k = 'older'")
    assert (changed_rows(spark, table.path, passed, last) is None) == (not most)
    assert table.unjudged(passed, last) == [("good", 1), ("older", 5)]


def test_where_the_changes_are_gone_all_rows_are_judged_and_it_says_so(table, monkeypatch):
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0), ('gone', 0)")
    table.do("INSERT INTO TABLE VALUES ('a', 1), ('b', 2)")
    last = table.do("DELETE FROM TABLE WHERE k IN ('a', 'gone')")
    deltalake.DeltaTable(str(table.path)).vacuum(0, enforce_retention_duration=False, dry_run=False)
    for file in (table.path / "_change_data").glob("*.parquet"):
        file.unlink()
    said: list[str] = []
    with heard(said.append):
        assert table.unjudged(passed, last) == [("b", 2), ("old", 0)]
    assert any("cannot be read" in line and "all rows of version" in line for line in said)


def test_where_the_log_was_cleaned_up_all_rows_are_judged_and_it_says_so(table):
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0)")
    table.do("INSERT INTO TABLE VALUES ('a', 1), ('b', 2)")
    table.do("DELETE FROM TABLE WHERE k = 'a'")
    last = clean_log(table.path)
    said: list[str] = []
    with heard(said.append):
        assert table.unjudged(passed, last) == [("b", 2), ("old", 0)]
    assert any("cannot be read" in line and "all rows of version" in line for line in said)
