"""Rows of a table that the driver reads for Spark are those that Spark reads."""

from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from shutil import copytree
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import parquet as pq

from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table import arrow_rows
from spark_jobs.table.delta import few_rows
from spark_jobs.values.spans import EVER, FIRST, LAST, Position, Span
from tests.harness.turns import held_by
from tests.spark.test_unjudged_rows import EVERY_TYPE

pytestmark = held_by("unit/test_added_rows.py")

AT = Position("at")
TYPES = EVERY_TYPE | {"at": ("TIMESTAMP", "TIMESTAMP'2013-01-01'", "TIMESTAMP'2013-01-02'")}
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
BEFORE, BEHIND = (Span(FIRST, NOON),), (Span(NOON, LAST),)
FEATURES = "'delta.feature.timestampNtz' = 'supported'"


class Stored:
    """A table of every type, of two versions."""

    def __init__(self, spark: Any, path: Any, *, parts: str = "") -> None:
        self.spark, self.path = spark, path
        columns = ", ".join(f"{name} {of[0]} COMMENT 'of {name}'" for name, of in TYPES.items())
        self.do(f"CREATE TABLE IT ({columns}) USING DELTA {parts} TBLPROPERTIES ({FEATURES})")
        for value in (1, 2):
            values = ", ".join(f"CAST({of[value]} AS {of[0]})" for of in TYPES.values())
            nulls = ", ".join("NULL" for _ in TYPES)
            self.version = self.do(f"INSERT INTO IT VALUES ({values}), ({nulls})")

    def do(self, sql: str) -> int:
        """The version that it makes."""
        self.spark.sql(sql.replace("IT", f"delta.`{self.path}`", 1))
        return DeltaTable(str(self.path)).version()

    def by_spark(self, version: int, spans: Sequence[Span], position: Position = AT) -> Any:
        read = self.spark.read.format("delta").option("versionAsOf", version)
        return read.load(spark_url(self.path)).where(position.sql(spans))

    def few(self, version: int, spans: Sequence[Span], position: Position = AT) -> Any:
        return few_rows.few_rows(self.spark, self.path, version, position, spans)


@pytest.fixture(scope="module")
def once(spark, tmp_path_factory) -> Stored:
    return Stored(spark, tmp_path_factory.mktemp("once") / "t")


@pytest.fixture
def stored(once, tmp_path) -> Stored:
    """A copy of it, to change."""
    made = copy(once)
    made.path = copytree(once.path, tmp_path / "t")
    return made


def values_of(frame: Any) -> list[tuple[str, ...]]:
    """Each row's values as texts, and their hashes: a text has not every difference."""
    texts = (f"coalesce(to_json(struct(`{name}`)), '') || hash(`{name}`)" for name in frame.columns)
    return sorted(tuple(row) for row in frame.selectExpr(*texts).collect())


def assert_equal(found: Any, wanted: Any, rows: int) -> None:
    assert found.schema == wanted.schema
    values = values_of(found)
    assert len(values) == rows
    assert values == values_of(wanted)


@pytest.mark.parametrize("parts", ["", "PARTITIONED BY (day, s)"])
def test_rows_of_every_type_at_a_version_and_by_a_condition(spark, tmp_path, parts):
    stored = Stored(spark, tmp_path / "t", parts=parts)
    later = stored.do("DELETE FROM IT WHERE at > '2013-01-02'")
    for version, spans, rows in (
        (stored.version, EVER, 2),
        (stored.version, BEFORE, 1),
        (later, EVER, 2),
        (later, (*BEHIND, *BEFORE), 2),
    ):
        assert_equal(stored.few(version, spans), stored.by_spark(version, spans), rows)
    last = stored.do("DELETE FROM IT WHERE at = '2013-01-02'")
    assert_equal(stored.few(last, BEHIND), stored.by_spark(last, BEHIND), 0)
    assert_equal(stored.few(later, BEHIND), stored.by_spark(later, BEHIND), 1)


@pytest.mark.parametrize("column", ["t", "u"])
def test_both_edges_are_sparks_to_the_microsecond(stored, column):
    kind = TYPES[column][0]
    first = datetime(2013, 3, 31, 2, tzinfo=UTC)
    times = [first + n * timedelta(microseconds=1) for n in range(-2, 3)]
    rows = ", ".join(f"({kind}'{at:%F %T.%f}')" for at in times)
    version = stored.do(f"INSERT INTO IT ({column}) VALUES {rows}")
    for edge, wanted in (("instant", 2), ("end", 2)):
        position = Position(column, edge)
        spans = (Span(times[1], times[3]),)
        by_spark = stored.by_spark(version, spans, position)
        assert_equal(stored.few(version, spans, position), by_spark, wanted)


def test_a_column_that_came_later_is_null_in_older_rows_and_keeps_what_is_noted_of_it(stored):
    version = stored.do("ALTER TABLE IT ADD COLUMN more STRUCT<x: INT> COMMENT 'added'")
    assert_equal(stored.few(version, EVER), stored.by_spark(version, EVER), 2)


def test_statistics_that_were_cut_to_the_millisecond_hide_no_row(stored):
    at = datetime(2013, 3, 31, 2, tzinfo=UTC)
    version = stored.do("INSERT INTO IT (at) VALUES (TIMESTAMP'2013-03-31 02:00:00.000500')")
    spans = (Span(at + timedelta(microseconds=100), at + timedelta(microseconds=900)),)
    assert_equal(stored.few(version, spans), stored.by_spark(version, spans), 1)


def test_files_of_before_the_column_was_indexed_are_read(stored):
    indexed = "ALTER TABLE IT SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '{}')"
    stored.do(indexed.format(1))
    stored.do("INSERT INTO IT (at) VALUES (TIMESTAMP'2013-01-03')")
    version = stored.do(indexed.format(32))
    assert_equal(stored.few(version, EVER), stored.by_spark(version, EVER), 3)


@pytest.mark.parametrize(
    "why", ["many", "much to read", "deleted in place", "mapped", "no version"]
)
def test_else_spark_must_read_them(stored, monkeypatch, why):
    version = stored.version
    match why:
        case "many":
            monkeypatch.setattr(arrow_rows, "MOST_BYTES", 100)
        case "much to read":
            monkeypatch.setattr(few_rows, "MOST_READ", 100)
        case "deleted in place":
            stored.do("ALTER TABLE IT SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
            version = stored.do("DELETE FROM IT WHERE s = ''")
        case "mapped":
            version = stored.do(
                "ALTER TABLE IT SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
            )
        case "no version":
            version += 1
    assert stored.few(version, EVER) is None


def test_what_takes_little_in_a_file_and_much_in_memory_is_left_to_spark(spark, tmp_path):
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING DELTA AS SELECT /*+ COALESCE(1) */ "
        "repeat('y', 200) AS s, TIMESTAMP'2013-01-01' AS t FROM range(100000)"
    )
    sizes = DeltaTable(str(path)).get_add_actions(flatten=True)["size_bytes"]
    assert sum(size.as_py() for size in sizes) < 1_000_000
    assert few_rows.few_rows(spark, path, 0, Position("t"), EVER) is None


def test_a_large_group_of_rows_is_left_to_spark_before_it_comes_into_memory(
    spark, tmp_path, monkeypatch
):
    monkeypatch.setattr(few_rows, "MOST_AT_ONCE", 1_000_000)
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING DELTA AS SELECT /*+ COALESCE(1) */ repeat('y', 100) s, "
        "TIMESTAMP'2013-01-01' + make_interval(0, 0, 0, 0, id) AS t FROM range(100000)"
    )
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool := pa.proxy_memory_pool(before))
    try:
        assert few_rows.few_rows(spark, path, 0, Position("t"), BEFORE) is None
    finally:
        pa.set_memory_pool(before)
    assert pool.max_memory() < few_rows.MOST_AT_ONCE


@pytest.mark.parametrize(
    ("column", "file"),
    [("1 AS A", {"a": 1}), ("array(struct(1 AS B)) AS s", {"s": [{"b": 1}]})],
    ids=["column", "member"],
)
def test_a_name_whose_case_is_not_the_tables_is_left_to_spark(spark, tmp_path, column, file):
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING DELTA AS SELECT TIMESTAMP'2013-01-01' t, {column}"
    )
    assert few_rows.few_rows(spark, path, 0, Position("t"), EVER) is not None
    [stored] = path.glob("*.parquet")
    times = pq.read_table(stored).select(["t"])
    [(name, value)] = file.items()
    pq.write_table(times.append_column(name, pa.array([value])), stored)
    assert few_rows.few_rows(spark, path, 0, Position("t"), EVER) is None


def test_a_file_that_is_gone_is_left_to_spark_which_names_it(stored):
    for file in stored.path.glob("*.parquet"):
        file.unlink()
    assert stored.few(stored.version, EVER) is None
