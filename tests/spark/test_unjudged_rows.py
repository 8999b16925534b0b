"""The rows that output checks judge, over small real tables: what a person mended is judged as it is now."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pytest

from spark_jobs.checks.rows import unjudged_rows
from tests.harness.cleaned import clean_log
from tests.harness.lines import heard


class Table:
    """A table with a change feed: version 0 has no row, and each write is a version."""

    def __init__(self, spark: Any, path: Path, mode: str) -> None:
        self.spark = spark
        self.path = path
        self.run: Any = SimpleNamespace(
            spark=spark,
            spec=SimpleNamespace(name="p", output_mode=mode),
            target=SimpleNamespace(table=path),
        )
        spark.sql(
            f"CREATE TABLE delta.`{path}` (k STRING, n INT) USING DELTA "
            "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
        )

    def do(self, sql: str) -> int:
        """The version that it makes."""
        self.spark.sql(sql.replace("TABLE", f"delta.`{self.path}`"))
        return deltalake.DeltaTable(str(self.path)).version()

    def unjudged(self, since: int, version: int) -> list[tuple[str, int]]:
        rows = unjudged_rows(self.run, since, version)
        try:
            return sorted((row.k, row.n) for row in rows.collect())
        finally:
            rows.unpersist()


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Table:
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


def test_in_update_mode_a_key_is_judged_by_its_last_row(spark, tmp_path):
    table = Table(spark, tmp_path / "t", "update")
    passed = table.do("INSERT INTO TABLE VALUES ('a', 1), ('untouched', 9)")
    for n in (2, 3):
        last = table.do(
            f"MERGE INTO TABLE t USING (SELECT 'a' AS k, {n} AS n) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET n = s.n"
        )
    assert table.unjudged(passed, last) == [("a", 3)]


def test_where_the_changes_are_gone_all_rows_are_judged_and_it_says_so(table, monkeypatch):
    passed = table.do("INSERT INTO TABLE VALUES ('old', 0)")
    table.do("INSERT INTO TABLE VALUES ('a', 1), ('b', 2)")
    last = table.do("DELETE FROM TABLE WHERE k = 'a'")
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
