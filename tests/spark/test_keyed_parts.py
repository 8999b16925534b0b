"""A table that follows a key: what Spark does for it that needs no drain."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import functions as F
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.side.initial_state import initial_state
from spark_jobs.sink.keyed.driver import Load
from spark_jobs.sink.keyed.in_spark import merge_in_spark
from spark_jobs.spec import GroupState
from spark_jobs.steps.latest import contents
from spark_jobs.table import arrow_rows
from spark_jobs.table.delta.door import change_feed
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.delta.written_rows import changed_rows
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import DELETED, OF_A_KEY
from tests.harness.turns import alike, held_by
from tests.unit.test_latest import COLUMNS, OWNER, STEP, Change, merge, rows, table_at, table_of

held = held_by("unit/test_latest.py", "spark/test_latest.py")

NESTED = {
    "array<bigint>": ["null", "array()", "array(null)", "array(null, 1L)", "array(1L, null)", "array(1L)", "array(0L, 1L)"],
    "struct<a:bigint,b:bigint>": ["null", "named_struct('a', null, 'b', null)", "named_struct('a', 1L, 'b', null)", "named_struct('a', null, 'b', 1L)", "named_struct('a', 0L, 'b', 1L)"],
    "array<array<bigint>>": ["array(array(0L))", "array(array(), array(), array())", "array(array(0L, 0L))", "array(array(0L), array(0L))", "array(null)"],
    "map<string,bigint>": ["null", "map()", "map('a', null)", "map('a', 0L)", "map('a', 1L, 'b', 2L)", "map('a', 2L, 'b', 1L)"],
    "map<string,array<map<string,timestamp>>>": ["map('a', array(map('b', timestamp_micros(1))))", "map('a', array(map('b', timestamp_micros(2))))", "map('a', array(map('b', null)))"],
    "string": ["null", "''", "'0'"],
}  # fmt: skip


def contents_of(given, *names):
    made = contents((given.schema[name], F.col(name)) for name in names)
    return [row[0] for row in given.select(made).collect()]


@pytest.mark.parametrize("kind", NESTED)
def test_two_values_that_differ_anywhere_have_two_contents(spark, kind):
    values = NESTED[kind]
    given = spark.sql(" UNION ALL ".join(f"SELECT CAST({of} AS {kind}) AS v" for of in values))
    found = contents_of(given, "v")
    same = {pair for pair in combinations(values, 2) if len({found[values.index(v)] for v in pair}) == 1}  # fmt: skip
    assert same == set()


def test_the_order_in_which_a_map_has_its_keys_makes_no_other_contents(spark):
    given = spark.sql("SELECT * FROM VALUES (map('a', 1, 'b', 2)), (map('b', 2, 'a', 1)) AS t(v)")
    one, other = contents_of(given, "v")
    assert one == other


def test_a_field_that_a_change_does_not_have_makes_no_other_contents(spark):
    """So a copy of a change of before is a copy where the topic has a field more."""
    rows = "VALUES ('1', 'x', NULL), ('1', NULL, 'x'), (NULL, 'x', '1')"
    given = spark.sql(f"SELECT * FROM {rows} AS t(a, b, c)")
    before, after = contents_of(given, "a", "b"), contents_of(given, "c", "b", "a")
    assert after[0] == before[0]
    assert len({*before, *after}) == 5


def replaced(spark, path, batch, number):
    """The batch by Spark; what its commit says."""
    note = {"sluice": OWNER, "batch": number, "run": "run"}
    changes = spark.createDataFrame(table_of(batch)).coalesce(1)
    to = Commit(str(path), OWNER, number, note, path)
    merge_in_spark(changes, Load(len(batch), 0), STEP, to)
    return written(Delta(path), [OWNER], number)[number]


BEFORE = [Change(each, 5, "x", "placed", number) for number, each in enumerate("abcdefg")]
BATCHES = [
    [*BEFORE, Change("z", 5, "x", None, 7)],
    [
        Change("a", 6, "x", "paid", 10), Change("b", 4, "x", "old", 11), Change("c", 6, "x", None, 12),
        Change("d", 5, "x", "placed", 13), Change("y", 1, "x", None, 14), Change("new", 1, "x", "placed", 15),
        Change("z", 4, "x", "late", 16), Change("e", 6, "x", "paid", 17), Change("e", 7, "x", None, 18),
    ],
    [Change("z", 6, "x", "again", 20), Change("a", 7, "x", "sent", 21)],
    [Change("b", 1, "x", "older still", 30)],
]  # fmt: skip
"""Every fate, a remembered delete that lives again, and a batch that changes nothing."""


def fed(path, version):
    """The change feed of a version, in no order."""
    feed = pa.table(change_feed(path, version - 1, version))
    names = [name for name in feed.column_names if name != "_commit_timestamp"]
    return sorted(map(str, feed.select(names).to_pylist()))


@held
@pytest.mark.usefixtures("settings_of_a_run")
@pytest.mark.parametrize("parts", [(), ("lsn",)])
def test_spark_writes_what_delta_rs_writes_and_keeps_what_a_person_has_added(
    spark, tmp_path, parts
):
    paths = [table_at(tmp_path / by, *parts) for by in ("here", "spark")]
    for number, batch in enumerate(BATCHES):
        one, other = merge(paths[0], batch, number), replaced(spark, paths[1], batch, number)
        assert one == other
        assert keyed(paths[0], one, STEP) == keyed(paths[1], other, STEP)
        assert keyed(paths[1], other, STEP).written == other.fates.written
        assert rows(paths[0]) == rows(paths[1])
        assert fed(paths[0], one.version) == fed(paths[1], other.version)
        if not number:
            for path in paths:
                spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN (note STRING)")
                DeltaTable(str(path)).update({"note": "'mine ' || id"})
    assert {each: row["note"] for each, row in rows(paths[1]).items()} == {
        each: None if each in {"new", "y"} else f"mine {each}" for each in rows(paths[1])
    }


@held
def test_only_files_with_a_row_that_is_replaced_are_written_anew(spark, tmp_path):
    path = table_at(tmp_path / "orders")
    for number, each in enumerate("ab"):
        merge(path, [Change(each, 1, "x", "placed", number)], number)
    kept = next(file for file in DeltaTable(str(path)).file_uris() if "a" in ids_in(file))
    replaced(spark, path, [Change("b", 2, "x", "paid", 5)], 2)
    assert kept in DeltaTable(str(path)).file_uris()
    assert rows(path)["b"]["status"] == "paid"


def ids_in(file):
    return pq.read_table(file, columns=["id"], partitioning=None)["id"].to_pylist()


@held
def test_a_batch_whose_answer_was_lost_is_not_put_again(spark, tmp_path):
    path = table_at(tmp_path / "orders")
    replaced(spark, path, BATCHES[0], 0)
    version = DeltaTable(str(path)).version()
    replaced(spark, path, BATCHES[0], 0)
    assert DeltaTable(str(path)).version() == version


@held
def test_a_table_whose_change_feed_was_switched_off_gets_none(spark, tmp_path):
    path = table_at(tmp_path / "orders")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    for number, batch in enumerate(BATCHES[:2]):
        done = replaced(spark, path, batch, number)
        assert keyed(path, done, STEP).written == done.fates.written
    assert not (path / "_change_data").exists()
    assert rows(path)["a"]["status"] == "paid"


MAPPED = pa.schema([*COLUMNS, pa.field("tags", pa.map_(pa.string(), pa.string()))])


def mapped(tmp_path) -> UPath:
    """Three versions of a table with a map: b is changed, and c goes."""
    path = UPath(tmp_path / "mapped")
    feed = {"delta.enableChangeDataFeed": "true"}
    first = [Change(each, 1, "x", "placed").row() | {"tags": [("k", each)]} for each in "abc"]
    rows = pa.Table.from_pylist(first, MAPPED)
    write_deltalake(str(path), rows, configuration=feed, partition_by=[DELETED])
    table = DeltaTable(str(path))
    table.update({"status": "'paid'"}, predicate="id = 'b'")
    table.delete("id = 'c'")
    return path


@alike("changed rows with a map")
@pytest.mark.parametrize("most", [arrow_rows.MOST_BYTES, 0], ids=["driver", "spark"])
def test_changed_rows_with_a_map_are_told_one_by_one(spark, tmp_path, monkeypatch, most):
    monkeypatch.setattr(arrow_rows, "MOST_BYTES", most)
    path = mapped(tmp_path)
    spec: Any = SimpleNamespace(keyed=STEP, output_mode="append")
    assert (changed_rows(spark, path, 0, 2) is None) == (not most)
    assert [row.tags for row in Delta(path).written(spark, spec, 0, 2).collect()] == [{"k": "b"}]


def test_a_first_state_from_a_table_that_follows_a_key_has_its_rows_and_no_delete(spark, tmp_path):
    path = table_at(tmp_path / "tables" / "orders")
    merge(path, [Change("a", 1, "x", "placed", 0), Change("b", 1, "x", None, 1)], 0)
    step = GroupState.model_construct(keys=("id",), initial_state="orders")
    found = initial_state(spark, step, UPath(tmp_path))
    assert [row.id for row in found.collect()] == ["a"]
    assert not {*OF_A_KEY} & {*found.columns}
